"""How much disk a run will need, judged by what earlier runs of its kind wrote.

Two parts: what grows with the steps (journal, telemetry, recordings, curves, logs) and what does
not (checkpoints are kept in bounded number, videos are few). Without earlier runs only a worker
that streams every step can be judged, by what a step costs at least.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.capabilities import Lane
from mosaic.contracts.learner import mode_of, worker_settings
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.daemon.keeping.archive.bundle import files_below
from mosaic.files import read_json
from mosaic.paths import Home

# Journal and store together, for small observations (measured: 420 bytes for four numbers).
BYTES_PER_STREAMED_STEP = 420
_STEP_FIELDS = ("total_timesteps", "total_steps", "max_steps")
_EPISODE_FIELDS = ("episodes", "total_episodes")


@dataclass(frozen=True)
class PlannedLength:
    """How long the run will be, as far as its config says; None where it does not."""

    steps: int | None = None
    episodes: int | None = None


@dataclass(frozen=True)
class PastRun:
    steps: int
    episodes: int
    growing_bytes: int
    other_bytes: int


@dataclass(frozen=True)
class DiskNeed:
    bytes: int
    # What the figure rests on, for people.
    basis: str


def planned_length(config: TrainRunConfig) -> PlannedLength:
    settings = config.worker.config
    steps = [_whole(settings, name) for name in _STEP_FIELDS] + [config.schedule.max_steps]
    episodes = [_whole(settings, name) for name in _EPISODE_FIELDS]
    return PlannedLength(_least(steps), _least(episodes))


def disk_need(length: PlannedLength, past: Sequence[PastRun], lane: Lane | None) -> DiskNeed | None:
    """None when nothing can be said."""
    if past:
        needs = [_scaled(run, length) for run in past]
        runs = "1 earlier run" if len(past) == 1 else f"{len(past)} earlier runs"
        return DiskNeed(max(needs), f"judging by {runs}")
    if lane is Lane.TELEMETRY and length.steps:
        return DiskNeed(length.steps * BYTES_PER_STREAMED_STEP, "at least, for every step is kept")
    return None


def _scaled(run: PastRun, length: PlannedLength) -> int:
    if length.steps and run.steps:
        factor = length.steps / run.steps
    elif length.episodes and run.episodes:
        factor = length.episodes / run.episodes
    else:
        factor = 1.0  # as much as last time
    return round(run.growing_bytes * factor) + run.other_bytes


def _whole(settings: Mapping[str, Any], name: str) -> int | None:
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 < value < 1e15 else None


def _least(values: Sequence[int | None]) -> int | None:
    return min((value for value in values if value), default=None)


MAX_SIMILAR_RUNS = 5
# The name of every TensorBoard file holds it.
_CURVES = "tfevents"


def similar_runs(config: TrainRunConfig, home: Home, records: Sequence[RunRecord]) -> list[PastRun]:
    """The newest that succeeded and were set up alike but for length and seed.

    `records` are those of the same worker and environment, newest first.
    """
    wanted = _kind(config.worker.config)
    found: list[PastRun] = []
    for record in records:
        if len(found) == MAX_SIMILAR_RUNS:
            break
        if record.outcome is Outcome.SUCCEEDED and _kind_of_run(home, record.run_id) == wanted:
            found.append(_past_run(home, record))
    return found


def _kind(settings: dict[str, Any]) -> tuple[str, str]:
    """Algorithm and mode: an evaluation writes other things than a training."""
    return str(settings.get("algo") or ""), mode_of(settings)


def _kind_of_run(home: Home, run_id: str) -> tuple[str, str] | None:
    try:
        return _kind(worker_settings(read_json(home.config(run_id))))
    except (OSError, ValueError):
        return None


def _past_run(home: Home, record: RunRecord) -> PastRun:
    files = home.run(record.run_id)
    growing = other = 0
    for relative, status in files_below(files.directory):
        if not stat.S_ISREG(status.st_mode):
            continue
        if _grows(files, relative):
            growing += status.st_size
        else:
            other += status.st_size
    progress = record.progress
    return PastRun(progress.steps, progress.episodes, growing, other)


def _grows(files: RunFiles, relative: str) -> bool:
    first, _, rest = relative.partition("/")
    if not rest:
        return first.startswith((files.journal.name, files.telemetry.name))
    return first in (files.recordings.name, files.logs.name) or _CURVES in relative
