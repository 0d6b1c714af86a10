"""A run as tables: metrics, episodes and, where asked for, every step."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mosaic.export.destination import new_export
from mosaic.export.episode_choice import ALL, EpisodeChoice
from mosaic.export.played_episodes import LeftOutEpisode
from mosaic.export.run_rows import (
    Exported,
    OnProgress,
    RowCount,
    RunRows,
    about,
    chosen_metrics,
    ignore_progress,
)
from mosaic.export.tables import (
    EPISODES,
    METRICS,
    STEPS,
    Column,
    Columns,
    Table,
    TableFormat,
    episode_columns,
    metric_columns,
    step_columns,
)
from mosaic.export.wide_metrics import WideMetrics


def export_tables(
    rows: RunRows,
    folder: Path,
    table_format: TableFormat,
    *,
    metrics: Collection[str] = (),
    episodes: EpisodeChoice = ALL,
    with_steps: bool = False,
    is_wide: bool = False,
    force: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> Exported:
    names = chosen_metrics(rows, metrics)
    count = RowCount(on_progress)
    with new_export(folder, about(rows.record, table_format.suffix[1:]), force) as destination:
        tables = _Tables(destination.folder, table_format, count)
        if is_wide:
            tables.write("metrics", *_wide(rows, names))
        else:
            points = (metric_columns(page) for name in names for page in rows.points(name))
            tables.write("metrics", METRICS, points)
        tables.write("episodes", EPISODES, map(episode_columns, rows.episodes(episodes)))
        left_out: list[str] = []
        if with_steps:
            missing: list[LeftOutEpisode] = []
            tables.write("steps", STEPS, _steps(rows, episodes, missing))
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
