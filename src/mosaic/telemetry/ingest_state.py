"""Where ingestion of one run stands, and the running sums its progress is told from.

This is the one row of the store's `ingest_state` table: it is written in the same transaction as
the rows it sums up, so a restart goes on from it without counting anything again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.run_record import Progress
from mosaic.telemetry.event_decoder import MAX_COUNT

RETURNS_KEPT = 100
RATE_WINDOW_S = 10.0


@dataclass(slots=True)
class IngestState:
    run_id: str
    # Everything in the journal before this is in the store.
    offset: int = 0
    events: int = 0
    steps: int = 0
    episodes: int = 0
    metrics: int = 0
    quarantined: int = 0
    # Sequence numbers that never came, and those that came again: told, never fatal.
    last_seq: int = -1
    missing: int = 0
    repeated: int = 0

    # The attempt that registered last. What follows counts from its registration on.
    attempt: int = 0
    attempt_cursor: int = 0
    agent_id: str = ""
    worker_id: str = ""
    env_id: str = ""
    has_samples: bool = False
    attempt_steps: int = 0
    attempt_episodes: int = 0
    # What the worker itself said, in its lifecycle events and by the steps of its metrics.
    reported_steps: int = 0
    reported_episodes: int = 0
    total_steps: int | None = None
    total_episodes: int | None = None

    # Speed is measured from `rate_from` to `rate_last`; `rate_mark` is the next `rate_from`.
    rate_from_time: float | None = None
    rate_from_steps: int = 0
    rate_mark_time: float | None = None
    rate_mark_steps: int = 0
    rate_last_time: float | None = None
    rate_last_steps: int = 0

    @property
    def steps_done(self) -> int:
        return max(self.attempt_steps, self.reported_steps)

    def begin_attempt(self, attempt: int, cursor: int) -> None:
        self.attempt = attempt
        self.attempt_cursor = cursor
        self.has_samples = False
        self.attempt_steps = self.attempt_episodes = 0
        self.reported_steps = self.reported_episodes = 0
        self.total_steps = self.total_episodes = None
        self.rate_from_time = self.rate_mark_time = self.rate_last_time = None

    def note_seq(self, seq: int) -> None:
        """Called where a sequence number is not the one after the last."""
        if seq <= self.last_seq:
            self.repeated += 1
        else:
            self.missing = min(self.missing + seq - self.last_seq - 1, MAX_COUNT)
            self.last_seq = seq

    def take_payload(self, payload: Mapping[str, Any]) -> None:
        """What a lifecycle event says about progress. A worker may put anything there."""
        self.reported_steps = max(self.reported_steps, _count(payload.get("steps")))
        self.reported_episodes = max(self.reported_episodes, _count(payload.get("episodes")))
        self.total_steps = _count(payload.get("total_steps")) or self.total_steps
        self.total_episodes = _count(payload.get("total_episodes")) or self.total_episodes
        env_id = payload.get("env_id")
        if isinstance(env_id, str):
            self.env_id = env_id

    def measure_rate(self, now: float) -> None:
        """Take a sample of the speed at the time of an event, where there was any progress."""
        steps = self.steps_done
        last, mark = self.rate_last_time, self.rate_mark_time
        if last is None or mark is None or now < last:  # at first, and when the clock was set back
            self.rate_from_time = self.rate_mark_time = now
            self.rate_from_steps = self.rate_mark_steps = steps
        elif steps == self.rate_from_steps:
            # Nothing has been done since the measurement began: it begins now. A worker may take
            # long to get ready, and that is not its speed.
            self.rate_from_time = self.rate_mark_time = now
        elif steps == self.rate_last_steps:
            return
        elif now - mark >= RATE_WINDOW_S:
            self.rate_from_time, self.rate_from_steps = mark, self.rate_mark_steps
            self.rate_mark_time, self.rate_mark_steps = now, steps
        self.rate_last_time, self.rate_last_steps = now, steps

    def go_on_from(self, step: int) -> None:
        """A checkpoint was loaded: its steps are done, but not at this attempt's speed."""
        self.reported_steps = max(self.reported_steps, _count(step))
        self.rate_from_time = self.rate_mark_time = self.rate_last_time = None

    def progress(self, returns: Sequence[float]) -> Progress:
        """`returns` are those of the attempt's last episodes, oldest first."""
        finite = [value for value in returns if math.isfinite(value)]
        return Progress(
            steps=self.steps_done,
            total_steps=self.total_steps,
            episodes=max(self.attempt_episodes, self.reported_episodes),
            total_episodes=self.total_episodes,
            last_return=finite[-1] if finite else None,
            mean_return=_mean(finite) if finite else None,
            steps_per_second=self._rate(),
        )

    def _rate(self) -> float | None:
        if self.rate_from_time is None or self.rate_last_time is None:
            return None
        seconds = self.rate_last_time - self.rate_from_time
        return (self.rate_last_steps - self.rate_from_steps) / seconds if seconds > 0 else None


def _mean(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # the sum of returns near the largest number is none
        return math.fsum(value / len(values) for value in values)


def _count(value: Any) -> int:
    """A count out of a payload, which may hold anything; 0 when it is none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if is_count else 0
