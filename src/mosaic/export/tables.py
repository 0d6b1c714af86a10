"""A run as tables: metrics, episodes and, where asked for, every step."""

from __future__ import annotations

import itertools
import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.metrics import MetricSeries
from mosaic.export.destination import new_export
from mosaic.export.run_rows import (
    ALL_EPISODES,
    EpisodeChoice,
    Exported,
    LeftOutEpisode,
    OnProgress,
    RowCount,
    RunRows,
    chosen_metrics,
    export_details,
    ignore_progress,
)

# One list per column, all of the same length.
Columns = Sequence[Sequence[Any]]


class ColumnKind(Enum):
    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    FLAG = "flag"


@dataclass(frozen=True)
class Column:
    name: str
    kind: ColumnKind


class Table(Protocol):
    """An open file that takes rows. `close` completes it; `abandon` only lets go of it."""

    def add(self, columns: Columns) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


class TableFormat(Protocol):
    @property
    def suffix(self) -> str: ...

    def create(self, path: Path, columns: Sequence[Column]) -> Table: ...


METRIC_TABLE = (
    Column("name", ColumnKind.TEXT),
    Column("step", ColumnKind.INTEGER),
    Column("value", ColumnKind.REAL),
    Column("timestamp", ColumnKind.REAL),
    # A value may be the mean of this many, between these.
    Column("count", ColumnKind.INTEGER),
    Column("low", ColumnKind.REAL),
    Column("high", ColumnKind.REAL),
)
EPISODE_TABLE = (
    Column("episode_index", ColumnKind.INTEGER),
    Column("total_reward", ColumnKind.REAL),
    Column("steps", ColumnKind.INTEGER),
    Column("terminated", ColumnKind.FLAG),
    Column("truncated", ColumnKind.FLAG),
    Column("episode_seed", ColumnKind.TEXT),  # may exceed 64 bits
    Column("timestamp", ColumnKind.REAL),
    Column("agent_id", ColumnKind.TEXT),
    Column("worker_id", ColumnKind.TEXT),
    Column("metadata", ColumnKind.TEXT),
)
STEP_TABLE = (
    Column("episode_index", ColumnKind.INTEGER),
    Column("step_index", ColumnKind.INTEGER),
    Column("action", ColumnKind.TEXT),
    Column("observation", ColumnKind.TEXT),
    Column("reward", ColumnKind.REAL),
    Column("terminated", ColumnKind.FLAG),
    Column("truncated", ColumnKind.FLAG),
    Column("episode_seed", ColumnKind.TEXT),
    Column("timestamp", ColumnKind.REAL),
    Column("agent_id", ColumnKind.TEXT),
    Column("worker_id", ColumnKind.TEXT),
    Column("render_hint", ColumnKind.TEXT),
    Column("info", ColumnKind.TEXT),
)


def metric_columns(page: MetricSeries) -> Columns:
    return [
        *([page.name] * len(page.means), page.last_steps, page.means, page.timestamps),
        *(page.counts, page.lows, page.highs),
    ]


def episode_columns(episodes: Iterable[EpisodeSummary]) -> Columns:
    rows = [
        (
            episode.episode_index,
            episode.total_reward,
            episode.steps,
            episode.terminated,
            episode.truncated,
            _seed(episode.episode_seed),
            episode.timestamp,
            episode.agent_id,
            episode.worker_id,
            json_text(episode.metadata),
        )
        for episode in episodes
    ]
    return list(zip(*rows, strict=True))


def step_columns(steps: Iterable[TrainingStep]) -> Columns:
    rows = [
        (
            step.episode_index,
            step.step_index,
            json_text(step.action),
            json_text(step.observation),
            step.reward,
            step.terminated,
            step.truncated,
            _seed(step.episode_seed),
            step.timestamp,
            step.agent_id,
            step.worker_id,
            json_text(step.render_hint),
            json_text(step.info),
        )
        for step in steps
    ]
    return list(zip(*rows, strict=True))


def json_text(value: Any) -> str:
    """Any JSON value as it stood in the journal; empty where there was none."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _seed(seed: int | None) -> str:
    return "" if seed is None else str(seed)


ROWS_AT_ONCE = 10_000
_STEP = Column("step", ColumnKind.INTEGER)


class WideMetrics:
    """Collects whole series, then gives rows in the order of their steps."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._steps: list[array[int]] = []
        self._values: list[array[float]] = []

    def add(self, name: str, pages: Iterable[MetricSeries]) -> None:
        steps, values = array("q"), array("d")
        for page in pages:
            steps.extend(page.last_steps)
            values.extend(page.means)
        order = sorted(range(len(steps)), key=steps.__getitem__)
        self._names.append(name)
        self._steps.append(array("q", (steps[place] for place in order)))
        self._values.append(array("d", (values[place] for place in order)))

    def columns(self) -> list[Column]:
        """A metric called like the column of steps gets a name of its own."""
        taken = {_STEP.name}
        columns = [_STEP]
        for name in self._names:
            while name in taken:
                name = f"metric {name}"
            taken.add(name)
            columns.append(Column(name, ColumnKind.REAL))
        return columns

    def rows(self) -> Iterator[Columns]:
        """Blocks of columns; None where a metric has no value."""
        places = [0] * len(self._names)
        block: list[list[int | float | None]] = []
        while True:
            row = self._next_row(places)
            if row is not None:
                block.append(row)
            if block and (row is None or len(block) == ROWS_AT_ONCE):
                yield list(zip(*block, strict=True))
                block = []
            if row is None:
                return

    def _next_row(self, places: list[int]) -> list[int | float | None] | None:
        """The row of the lowest step that is left; moves the places behind it."""
        waiting = [
            steps[place]
            for steps, place in zip(self._steps, places, strict=True)
            if place < len(steps)
        ]
        if not waiting:
            return None
        step = min(waiting)
        row: list[int | float | None] = [step]
        for index, (steps, values) in enumerate(zip(self._steps, self._values, strict=True)):
            place = places[index]
            if place < len(steps) and steps[place] == step:
                row.append(values[place])
                places[index] = place + 1
            else:
                row.append(None)
        return row


def export_tables(
    rows: RunRows,
    folder: Path,
    table_format: TableFormat,
    *,
    metrics: Collection[str] = (),
    episodes: EpisodeChoice = ALL_EPISODES,
    with_steps: bool = False,
    is_wide: bool = False,
    force: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> Exported:
    names = chosen_metrics(rows, metrics)
    count = RowCount(on_progress)
    with new_export(
        folder, export_details(rows.record, table_format.suffix[1:]), force
    ) as destination:
        tables = _Tables(destination.folder, table_format, count)
        if is_wide:
            tables.write("metrics", *_wide(rows, names))
        else:
            points = (metric_columns(page) for name in names for page in rows.points(name))
            tables.write("metrics", METRIC_TABLE, points)
        tables.write("episodes", EPISODE_TABLE, map(episode_columns, rows.episodes(episodes)))
        left_out: list[str] = []
        if with_steps:
            missing: list[LeftOutEpisode] = []
            tables.write("steps", STEP_TABLE, _steps(rows, episodes, missing))
            left_out = missing_steps(missing)
            if not count.rows["steps"] and not left_out:
                left_out = ["the run has no episodes, so it has no steps"]
        destination.about.update(rows=count.rows, left_out=left_out)
    return Exported(folder, count.rows, tuple(left_out), is_incomplete=bool(left_out))


def _steps(
    rows: RunRows, episodes: EpisodeChoice, missing: list[LeftOutEpisode]
) -> Iterator[Columns]:
    for found in rows.steps(episodes):
        if isinstance(found, LeftOutEpisode):
            missing.append(found)
        else:
            yield step_columns(found)


def missing_steps(episodes: Sequence[LeftOutEpisode]) -> list[str]:
    """A sentence each; one for all that follow each other and lack them for the same reason."""
    sentences = []
    for reason, group in itertools.groupby(episodes, lambda episode: episode.reason):
        indices = [episode.episode_index for episode in group]
        which = f"episode {indices[0]}"
        if len(indices) > 1:
            which = f"{len(indices)} episodes from {min(indices)} to {max(indices)}"
        sentences.append(f"steps of {which}: {reason}")
    return sentences


def _wide(rows: RunRows, names: Sequence[str]) -> tuple[Sequence[Column], Iterator[Columns]]:
    wide = WideMetrics()
    for name in names:
        wide.add(name, rows.points(name))
    return wide.columns(), wide.rows()


class _Tables:
    def __init__(self, folder: Path, table_format: TableFormat, count: RowCount) -> None:
        self._folder = folder
        self._format = table_format
        self._count = count

    def write(self, name: str, columns: Sequence[Column], blocks: Iterator[Columns]) -> None:
        with self._opened(name, columns) as table:
            self._count.add(name, 0)
            for block in blocks:
                if block and block[0]:
                    table.add(block)
                    self._count.add(name, len(block[0]))

    @contextmanager
    def _opened(self, name: str, columns: Sequence[Column]) -> Iterator[Table]:
        table = self._format.create(self._folder / f"{name}{self._format.suffix}", columns)
        try:
            yield table
        except BaseException:
            table.abandon()
            raise
        table.close()
