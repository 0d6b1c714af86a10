"""TelemetryView: the newest steps and episodes of a run as rows, and how its journal is read."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from itertools import islice

import msgspec

from mosaic.client.streams import AsyncSubscription
from mosaic.contracts.capabilities import Lane
from mosaic.contracts.events import EpisodeSummary, EventType, number_from_json
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.runbus import ControlKind
from mosaic.front.human import amount, count, decimal
from mosaic.front.run_words import state_word
from mosaic.gui.tabs.model import Column, Row, Tone, time_of_day
from mosaic.wire.answers import BusBatch, BusNotice

# Longer actions are cut: they are shown in a cell.
_MOST_ACTION = 60


@dataclass(frozen=True)
class ReportedStep:
    seq: int
    stream: str  # whose steps follow one another: agent and worker
    episode: int
    step: int
    action: str
    reward: float
    end: str


@dataclass(frozen=True)
class ReportedEpisode:
    seq: int
    stream: str
    episode: int
    total: float
    steps: int
    end: str
    at: float


@dataclass(frozen=True)
class Skipped:
    """Samples that the daemon left out because they came faster than they were taken."""

    samples: int


Reported = ReportedStep | ReportedEpisode | Skipped


class _Line(msgspec.Struct):
    """Observations may be whole pictures: they are passed over without being decoded."""

    type: str
    seq: int = 0
    timestamp: float = 0.0
    agent_id: str | None = None
    worker_id: str | None = None
    episode_index: int = 0
    step_index: int = 0
    action: msgspec.Raw = msgspec.Raw(b"null")
    reward: float | str = 0.0
    total_reward: float | str = 0.0
    steps: int = 0
    terminated: bool = False
    truncated: bool = False


_decoder = msgspec.json.Decoder(_Line)


def read_lines(lines: Iterable[bytes]) -> list[Reported]:
    """What is not a step and no episode is left out, as is what cannot be read."""
    found: list[Reported] = []
    for text in lines:
        try:
            line = _decoder.decode(text)
            if line.type == EventType.STEP:
                found.append(_step(line))
            elif line.type == EventType.EPISODE:
                found.append(_episode(line))
        except (msgspec.DecodeError, KeyError):
            continue
    return found


def reported_episode(summary: EpisodeSummary) -> ReportedEpisode:
    """One out of the store, as one that was just heard of."""
    return ReportedEpisode(
        summary.seq,
        _stream(summary.agent_id, summary.worker_id),
        summary.episode_index,
        summary.total_reward,
        summary.steps,
        end_word(summary.terminated, summary.truncated),
        summary.timestamp,
    )


def read_bus_item(item: BusBatch | BusNotice) -> list[Reported]:
    if isinstance(item, BusBatch):
        return read_lines(item.lines)
    skipped = sum(item.coalesced.values())
    return [Skipped(skipped)] if item.kind is ControlKind.RESUMED and skipped else []


async def paced(
    subscription: AsyncSubscription, most: int, every_s: float
) -> AsyncIterator[list[Reported]]:
    """What is seen, no more than `most` samples in `every_s`.

    Whoever reports faster makes the daemon wait for credits: it then leaves samples out, and says
    how many, instead of this process drowning in them.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    until, taken = loop.time() + every_s, 0
    async with subscription:
        async for item in subscription:
            found = read_bus_item(item)
            yield found
            now = loop.time()
            if now >= until:
                until, taken = now + every_s, 0
            taken += len(found)
            if taken >= most:
                await asyncio.sleep(max(0.0, until - now))
                until, taken = loop.time() + every_s, 0


def end_word(terminated: bool, truncated: bool) -> str:
    return "terminated" if terminated else "truncated" if truncated else ""


def _step(line: _Line) -> ReportedStep:
    action = bytes(line.action).decode(errors="replace")
    if len(action) > _MOST_ACTION:
        action = f"{action[:_MOST_ACTION]}…"
    return ReportedStep(
        line.seq,
        _stream(line.agent_id, line.worker_id),
        line.episode_index,
        line.step_index,
        action,
        number_from_json(line.reward),
        end_word(line.terminated, line.truncated),
    )


def _episode(line: _Line) -> ReportedEpisode:
    return ReportedEpisode(
        line.seq,
        _stream(line.agent_id, line.worker_id),
        line.episode_index,
        number_from_json(line.total_reward),
        line.steps,
        end_word(line.terminated, line.truncated),
        line.timestamp,
    )


def _stream(agent_id: str | None, worker_id: str | None) -> str:
    return f"{agent_id or ''}/{worker_id or ''}"


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
        self._episodes: deque[ReportedEpisode] = deque(maxlen=MOST_ROWS)
        self._known: set[tuple[int, float]] = set()  # of the episodes: the store has some, too
        self._returns: dict[str, tuple[int, float | None]] = {}  # by stream: episode and sum

    def add(self, seen: Iterable[Reported]) -> None:
        for item in seen:
            if isinstance(item, ReportedStep):
                self._add_step(item)
            elif isinstance(item, ReportedEpisode):
                self._add_episode(item)
            elif isinstance(item, Skipped):
                self.skipped += item.samples
                # Rewards were among them: what was summed up is not the return any more.
                self._returns = {stream: (e, None) for stream, (e, _) in self._returns.items()}

    def load_episodes(self, newest_first: Iterable[ReportedEpisode]) -> None:
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
                help=f"{item.end or 'ended'} at {time_of_day(item.at, now)}",
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

    def _add_step(self, step: ReportedStep) -> None:
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

    def _return_with(self, step: ReportedStep) -> float | None:
        episode, so_far = self._returns.get(step.stream, (-1, None))
        if step.step == 0:
            so_far = step.reward
        elif episode != step.episode or so_far is None:
            so_far = None
        else:
            so_far += step.reward
        self._returns[step.stream] = (step.episode, so_far)
        return so_far

    def _add_episode(self, item: ReportedEpisode) -> None:
        if self._is_new(item):
            self._episodes.appendleft(item)

    def _is_new(self, item: ReportedEpisode) -> bool:
        key = (item.episode, item.at)  # lines of the journal may leave the stream out
        if key in self._known:
            return False
        if len(self._known) > 4 * MOST_ROWS:
            self._known = {(one.episode, one.at) for one in self._episodes}
        self._known.add(key)
        return True


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
        f"{name} streams metrics via the charts, TensorBoard and W&B; step-by-step live telemetry "
        "is not available, because it steps too fast for that."
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
