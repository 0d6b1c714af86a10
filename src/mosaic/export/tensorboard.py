"""A run as a TensorBoard event file: its metrics, and its episodes as two more scalars.

An episode's step is its number. TensorBoard keeps 32 bits of a value.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import BinaryIO

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.metrics import MetricSeries
from mosaic.contracts.tensorboard_records import Sample, ScalarRecords, file_start
from mosaic.export.destination import new_export
from mosaic.export.run_rows import (
    ALL_EPISODES,
    EpisodeChoice,
    Exported,
    OnProgress,
    RowCount,
    RunRows,
    chosen_metrics,
    export_details,
    ignore_progress,
)

# TensorBoard takes every file with "tfevents" in its name.
EVENT_FILE_NAME = "events.out.tfevents.{seconds:010d}.{run_id}"


class EventFile:
    """One new file in a folder; what is added is packed and written at once."""

    def __init__(self, folder: Path, run_id: str, started_at: float) -> None:
        self.path = folder / EVENT_FILE_NAME.format(seconds=max(0, int(started_at)), run_id=run_id)
        self._file: BinaryIO = self.path.open("xb")
        self._file.write(file_start())
        self._records = ScalarRecords()

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        # What is still buffered may not fit either; the first error says it already.
        with contextlib.suppress(*([OSError] if failure else [])):
            self._file.close()

    def add(self, samples: Iterable[Sample]) -> None:
        self._file.write(self._records.pack(samples))


EPISODE_RETURN = "episode/return"
EPISODE_LENGTH = "episode/length"


def export_tensorboard(
    rows: RunRows,
    folder: Path,
    *,
    metrics: Collection[str] = (),
    episodes: EpisodeChoice = ALL_EPISODES,
    force: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> Exported:
    record = rows.record
    names = chosen_metrics(rows, metrics)
    count = RowCount(on_progress, {"metrics": 0, "episodes": 0})
    started_at = record.started_at or record.created_at
    with new_export(folder, export_details(record, "tensorboard"), force) as destination:
        with EventFile(destination.folder, record.run_id, started_at) as file:
            for name in names:
                for page in rows.points(name):
                    file.add(point_samples(page))
                    count.add("metrics", len(page.means))
            for some in rows.episodes(episodes):
                file.add(episode_samples(some, taken=names))
                count.add("episodes", len(some))
        destination.about["rows"] = count.rows
    return Exported(folder, count.rows, advice=shlex.join(["tensorboard", "--logdir", str(folder)]))


def point_samples(page: MetricSeries) -> list[Sample]:
    name = page.name
    points = zip(page.last_steps, page.means, page.timestamps, strict=True)
    return [(name, value, step, at) for step, value, at in points]


def episode_samples(episodes: list[EpisodeSummary], taken: Collection[str]) -> list[Sample]:
    """A metric of the run that is called like one of ours stays alone under its name."""
    samples: list[Sample] = []
    for episode in episodes:
        at = episode.episode_index, episode.timestamp
        if EPISODE_RETURN not in taken:
            samples.append((EPISODE_RETURN, episode.total_reward, *at))
        if EPISODE_LENGTH not in taken:
            samples.append((EPISODE_LENGTH, float(episode.steps), *at))
    return samples
