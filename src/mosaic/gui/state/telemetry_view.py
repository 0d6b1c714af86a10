"""TelemetryView: the newest steps and episodes of one run, as rows."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from itertools import islice

from mosaic.contracts.capabilities import Lane
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import amount, count, decimal
from mosaic.front.run_words import state_word
from mosaic.gui.state.tab_table import Column, Row, Tone
from mosaic.gui.state.telemetry_events import Seen, SeenEpisode, SeenStep, Skipped

MOST_ROWS = 500
STEP_COLUMNS = (
    Column("Ep.", is_number=True, help="episode"),
    Column("Step", is_number=True, help="step of the episode"),
    Column("Action", is_number=True),
    Column("Reward", is_number=True),
    Column("Return", is_number=True, help="sum of the rewards of the episode so far"),
    Column("End", help="how the episode ended: terminated or truncated"),
)
EPISODE_COLUMNS = (
    Column("Episode", is_number=True),
    Column("Return", is_number=True),
    Column("Steps", is_number=True),
    Column("End", help="how it ended: terminated or truncated"),
    Column("", is_link=True, help="play the episode again in the centre"),
)
_SHORT = {"terminated": "term.", "truncated": "trunc."}
_UNKNOWN = "–"


class TelemetryView:
    """Bounded, whatever a run reports. Returns are known from the first step of an episode on."""

    def __init__(self) -> None:
        self.steps_seen = 0
        self.skipped = 0
        self._steps: deque[Row] = deque(maxlen=MOST_ROWS)
        self._episodes: deque[SeenEpisode] = deque(maxlen=MOST_ROWS)
        self._known: set[tuple[int, float]] = set()  # of the episodes: the store has some, too
        self._returns: dict[str, tuple[int, float | None]] = {}  # by stream: episode and sum

    def add(self, seen: Iterable[Seen]) -> None:
        for item in seen:
            if isinstance(item, SeenStep):
                self._add_step(item)
            elif isinstance(item, SeenEpisode):
                self._add_episode(item)
            elif isinstance(item, Skipped):
                self.skipped += item.samples
                # Rewards were among them: what was summed up is not the return any more.
                self._returns = {stream: (e, None) for stream, (e, _) in self._returns.items()}

    def load_episodes(self, newest_first: Iterable[SeenEpisode]) -> None:
        """Those of the store; what was heard of meanwhile stays in front."""
        for item in newest_first:
            if len(self._episodes) < MOST_ROWS and self._is_new(item):
                self._episodes.append(item)

    @property
    def has_steps(self) -> bool:
        return bool(self._steps)

    @property
    def has_episodes(self) -> bool:
        return bool(self._episodes)

    def step_rows(self) -> list[Row]:
        return list(self._steps)

    def episode_rows(self, is_replayable: bool, now: float | None = None) -> list[Row]:
        return [
            Row(
                (item.stream, item.episode, item.at),
                (
                    count(item.episode),
                    decimal(item.total),
                    count(item.steps),
                    _SHORT.get(item.end, ""),
                    "Replay" if is_replayable else "",
                ),
                help=f"{item.end or 'ended'} at {clock(item.at, now)}",
            )
            for item in islice(self._episodes, MOST_ROWS)
        ]

    def status(self) -> str:
        parts = []
        if self.steps_seen:
            parts.append(amount(self.steps_seen, "step"))
        if self.skipped:
            parts.append(f"{amount(self.skipped, 'sample')} skipped")
        return " · ".join(parts)

    def _add_step(self, step: SeenStep) -> None:
        self.steps_seen += 1
        so_far = self._return_with(step)
        self._steps.appendleft(
            Row(
                (step.stream, step.seq),
                (
                    count(step.episode),
                    count(step.step),
                    step.action,
                    decimal(step.reward),
                    _UNKNOWN if so_far is None else decimal(so_far),
                    _SHORT.get(step.end, ""),
                ),
                Tone.MUTED if step.end else Tone.PLAIN,
                help=f"action {step.action}" + (f", {step.end}" if step.end else ""),
            )
        )

    def _return_with(self, step: SeenStep) -> float | None:
        episode, so_far = self._returns.get(step.stream, (-1, None))
        if step.step == 0:
            so_far = step.reward
        elif episode != step.episode or so_far is None:
            so_far = None
        else:
            so_far += step.reward
        self._returns[step.stream] = (step.episode, so_far)
        return so_far

    def _add_episode(self, item: SeenEpisode) -> None:
        if self._is_new(item):
            self._episodes.appendleft(item)

    def _is_new(self, item: SeenEpisode) -> bool:
        key = (item.episode, item.at)  # lines of the journal may leave the stream out
        if key in self._known:
            return False
        if len(self._known) > 4 * MOST_ROWS:
            self._known = {(one.episode, one.at) for one in self._episodes}
        self._known.add(key)
        return True


def clock(at: float, now: float | None = None) -> str:
    """The time of day, with the day where that is not today's."""
    moment = time.localtime(at)
    is_today = time.strftime("%F", moment) == time.strftime("%F", time.localtime(now))
    return time.strftime("%H:%M:%S" if is_today else "%b %d %H:%M", moment)


def lane_of(record: RunRecord) -> Lane:
    try:
        return Lane(record.capabilities.get("lane", Lane.TELEMETRY))
    except ValueError:
        return Lane.TELEMETRY


def streams_steps(record: RunRecord) -> bool:
    return lane_of(record) is not Lane.ANALYTICS


def is_replayable(record: RunRecord) -> bool:
    return bool(record.capabilities.get("replay_maker"))


def lane_banner(record: RunRecord) -> str:
    """What an analytics-only run does not have, and why; empty for others."""
    if streams_steps(record):
        return ""
    name = record.capabilities.get("metadata", {}).get("name") or record.worker
    return (
        f"{name} streams metrics to the charts and to TensorBoard. It has no step-by-step "
        "telemetry, because it steps too fast for that."
    )


def nothing_yet(record: RunRecord, of_steps: bool) -> tuple[str, str]:
    """Why the table is empty, and what to do."""
    what = "steps" if of_steps else "episodes"
    if record.is_over:
        return f"No {what} were reported", "Its log, below the table of runs, has what it printed."
    word = state_word(record)
    if word in ("queued", "starting", "ready"):
        why = record.waiting or "They appear as soon as the worker reports the first."
        return f"The run is {word}", why[:1].upper() + why[1:]
    if word == "paused":
        return "The run is paused", "Continue it, and its telemetry goes on here."
    return f"No {what} yet", "They appear as soon as the worker reports the first."
