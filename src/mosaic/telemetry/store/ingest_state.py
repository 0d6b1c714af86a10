"""How far the ingestion of one run is, and the running sums behind its progress.

This is the one row of the store's `ingest_state` table: it is written in the same transaction as
the rows it sums up, so a restart continues from it without counting anything again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.metrics import EpisodeKind, mean_of
from mosaic.contracts.run_record import Progress
from mosaic.telemetry.journal.decoder import MAX_COUNT

# The speed now is that of one to two of these.
RATE_WINDOW_S = 5.0


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
    # Sequence numbers that never came, and those that came twice: reported, never fatal.
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

    # The speed now is measured from `rate_from` to `rate_last`; `rate_mark` is the next
    # `rate_from`. All these times are of a clock that stops while the run is paused.
    rate_from_time: float | None = None
    rate_from_steps: int = 0
    rate_mark_time: float | None = None
    rate_mark_steps: int = 0
    rate_last_time: float | None = None
    rate_last_steps: int = 0

    # The step of the checkpoint from which the attempt continued.
    resumed_from: int = 0
    # See EpisodePlace.
    last_episode_step: int = 0
    may_begin_anew: bool = False
    # Training episodes of the run that count, each of a summary of several.
    finished_episodes: int = 0
    has_training_curves: bool = False
    has_evaluation_curves: bool = False

    paused_since: float | None = None
    paused_s: float = 0.0
    # The speed overall is measured from here to `rate_last`, and in what came before it.
    trained_from_time: float | None = None
    trained_from_steps: int = 0
    earlier_s: float = 0.0
    earlier_steps: int = 0

    @property
    def steps_done(self) -> int:
        return max(self.resumed_from + self.attempt_steps, self.reported_steps)

    def begin_attempt(self, attempt: int, cursor: int) -> None:
        self.attempt = attempt
        self.attempt_cursor = cursor
        self.has_samples = False
        self.attempt_steps = self.attempt_episodes = 0
        self.reported_steps = self.reported_episodes = 0
        self.resumed_from = 0
        self.total_steps = self.total_episodes = None
        self._stop_measuring()
        self.paused_since, self.paused_s = None, 0.0

    def has_curves(self, kind: EpisodeKind) -> bool:
        return (
            self.has_training_curves if kind is EpisodeKind.TRAINING else self.has_evaluation_curves
        )

    def begin_curves(self, kind: EpisodeKind) -> None:
        if kind is EpisodeKind.TRAINING:
            self.has_training_curves = True
        else:
            self.has_evaluation_curves = True

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
        if self.paused_since is not None:
            if self.rate_last_time is None or steps <= self.rate_last_steps:
                return
            self.unpause(now)  # it continues without having said so
        now -= self.paused_s
        last, mark = self.rate_last_time, self.rate_mark_time
        if last is None or mark is None or now < last:  # at first, and when the clock was set back
            self._stop_measuring()
            self._begin_measuring(now, steps)
        elif steps == self.trained_from_steps:
            # Nothing has been done since the measurement began: it begins now. A worker may take
            # long to get ready, and that is not its speed.
            self._begin_measuring(now, steps)
        elif steps == self.rate_last_steps:
            return
        elif now - mark >= RATE_WINDOW_S:
            self.rate_from_time, self.rate_from_steps = mark, self.rate_mark_steps
            self.rate_mark_time, self.rate_mark_steps = now, steps
        self.rate_last_time, self.rate_last_steps = now, steps

    def pause(self, now: float) -> None:
        self.measure_rate(now)
        if self.paused_since is None:
            self.paused_since = now

    def unpause(self, now: float) -> None:
        if self.paused_since is not None:
            self.paused_s += max(0.0, now - self.paused_since)
            self.paused_since = None

    def continue_from(self, step: int) -> None:
        """A checkpoint was loaded: its steps are done, but not at this attempt's speed."""
        self.resumed_from = self.reported_steps = _count(step)
        self.attempt_steps = 0
        self._stop_measuring()

    def progress(self, returns: Sequence[float]) -> Progress:
        """`returns` are those of the run's last training episodes that count, oldest first."""
        finite = [value for value in returns if math.isfinite(value)]
        # The worker's own count is used only if it reports no episodes.
        has_told = self.attempt_episodes or self.finished_episodes
        return Progress(
            steps=self.steps_done,
            total_steps=self.total_steps,
            episodes=self.finished_episodes if has_told else self.reported_episodes,
            total_episodes=self.total_episodes,
            last_return=finite[-1] if finite else None,
            mean_return=mean_of(finite),
            steps_per_second=self._rate(),
            overall_steps_per_second=self._overall_rate(),
        )

    def _begin_measuring(self, now: float, steps: int) -> None:
        self.rate_from_time = self.rate_mark_time = self.trained_from_time = now
        self.rate_from_steps = self.rate_mark_steps = self.trained_from_steps = steps

    def _stop_measuring(self) -> None:
        """What was measured stays part of the speed overall."""
        self.earlier_s, self.earlier_steps = self._trained()
        self.rate_from_time = self.rate_mark_time = self.rate_last_time = None
        self.trained_from_time = None

    def _rate(self) -> float | None:
        if self.rate_from_time is None or self.rate_last_time is None:
            return None
        seconds = self.rate_last_time - self.rate_from_time
        return (self.rate_last_steps - self.rate_from_steps) / seconds if seconds > 0 else None

    def _trained(self) -> tuple[float, int]:
        """Seconds and steps of all attempts, without start-up and pauses."""
        if self.trained_from_time is None or self.rate_last_time is None:
            return self.earlier_s, self.earlier_steps
        return (
            self.earlier_s + self.rate_last_time - self.trained_from_time,
            self.earlier_steps + self.rate_last_steps - self.trained_from_steps,
        )

    def _overall_rate(self) -> float | None:
        seconds, steps = self._trained()
        return steps / seconds if seconds > 0 and steps > 0 else None


def _count(value: Any) -> int:
    """A count out of a payload, which may hold anything; 0 when it is none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
    return value if is_count else 0
