"""What an export is made from: the rows of a run, and which of its episodes are meant.

Episodes are chosen as `3`, `10..20`, `best:5` or `last:10`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError

_RANGE = re.compile(r"(\d{1,18})(?:\.\.(\d{1,18}))?")
_RANKED = re.compile(r"(best|last):(\d{1,9})")


@dataclass(frozen=True)
class EpisodeChoice:
    """Either a range of episode numbers, both ends included, or this many of the best or last."""

    first: int | None = None
    last: int | None = None
    order: str = "oldest"  # "best" and "newest" come with a count
    count: int = 0

    @property
    def is_all(self) -> bool:
        return self == ALL_EPISODES

    def holds(self, episode_index: int) -> bool:
        return (self.first is None or self.first <= episode_index) and (
            self.last is None or episode_index <= self.last
        )


ALL_EPISODES = EpisodeChoice()


def parse_choice(text: str) -> EpisodeChoice:
    if match := _RANKED.fullmatch(text):
        count = int(match[2])
        if count:
            return EpisodeChoice(order="best" if match[1] == "best" else "newest", count=count)
    if match := _RANGE.fullmatch(text):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if first <= last:
            return EpisodeChoice(first, last)
    raise RequestError(
        f"{text[:80]!r} does not say which episodes",
        hint="3, 10..20 (both included), best:5 or last:10",
    )


@dataclass(frozen=True)
class PlayedEpisode:
    """One more observation than actions: where it began, then what each action led to."""

    episode_index: int
    observations: list[Any]
    actions: list[Any]
    rewards: list[float]
    terminations: list[bool]
    truncations: list[bool]
    seed: int | None = None
    # What its environment was made with, besides its id.
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    # What is missing of it, when something is.
    note: str = ""
    # As the run told of it; of an episode that was simulated.
    summary: EpisodeSummary | None = None
    # What the agent expected where it took each action; NaN: unknown. Empty: its worker tells none.
    values: tuple[float, ...] = ()


@dataclass(frozen=True)
class LeftOutEpisode:
    episode_index: int
    reason: str


_NAMES_SHOWN = 8

# Called now and then with the rows written so far.
OnProgress = Callable[[int], None]


def ignore_progress(rows: int) -> None:
    pass


class RunRows(Protocol):
    """The rows of one run, in pages of a bounded size."""

    @property
    def record(self) -> RunRecord: ...

    def metrics(self) -> list[MetricInfo]: ...

    def points(self, name: str) -> Iterator[MetricSeries]: ...

    def episodes(self, choice: EpisodeChoice) -> Iterator[list[EpisodeSummary]]: ...

    def steps(self, choice: EpisodeChoice) -> Iterator[list[TrainingStep] | LeftOutEpisode]: ...


@dataclass(frozen=True)
class Exported:
    """Where it lies, how many rows each part has, and what could not be part of it and why."""

    folder: Path
    rows: dict[str, int]
    left_out: tuple[str, ...] = ()
    # How to use it, in a sentence.
    advice: str = ""
    # Whether something that was asked for by name is not there.
    is_incomplete: bool = False


@dataclass
class RowCount:
    """Counts what is written, and tells whoever wants to know."""

    on_progress: OnProgress
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, part: str, count: int) -> None:
        self.rows[part] = self.rows.get(part, 0) + count
        self.on_progress(sum(self.rows.values()))


def export_details(record: RunRecord, export_format: str) -> dict[str, Any]:
    return {
        "export": export_format,
        "run_id": record.run_id,
        "run_name": record.run_name,
        "env_id": record.env_id,
        "worker": record.worker,
        # A run that was not over may have more rows by now.
        "was_over": record.is_over,
        # The figures every part of MOSAIC shows of the run.
        "progress": asdict(record.progress),
        "exported_at": time.time(),
    }


def chosen_metrics(rows: RunRows, wanted: Collection[str]) -> list[str]:
    """The metrics to export, in the order of the run; all when none is named."""
    known = [info.name for info in rows.metrics()]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        shown = ", ".join(known[:_NAMES_SHOWN]) + (", …" if len(known) > _NAMES_SHOWN else "")
        raise RequestError(
            f"{rows.record.run_name} has no metric {unknown[0][:80]!r}",
            hint=f"it has {shown}" if known else "it has none at all",
            unknown=unknown,
        )
    return [name for name in known if not wanted or name in wanted]
