"""Earlier runs like the one that is submitted: what they wrote is what it will write."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from typing import Any

from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.daemon.keeping.parcel import files_below
from mosaic.daemon.preflight.disk_need import PastRun
from mosaic.files import read_json
from mosaic.paths import Home

MOST = 5
# The name of every TensorBoard file holds it.
_CURVES = "tfevents"


def similar_runs(config: TrainRunConfig, home: Home, records: Sequence[RunRecord]) -> list[PastRun]:
    """The newest that succeeded and were set up alike but for length and seed.

    `records` are those of the same worker and environment, newest first.
    """
    wanted = _kind(config.worker.config)
    found: list[PastRun] = []
    for record in records:
        if len(found) == MOST:
            break
        if record.outcome is Outcome.SUCCEEDED and _kind_of_run(home, record.run_id) == wanted:
            found.append(_past_run(home, record))
    return found


def _kind(settings: dict[str, Any]) -> tuple[str, str]:
    """Algorithm and mode: an evaluation writes other things than a training."""
    extras = settings.get("extras")
    mode = extras.get("mode") if isinstance(extras, dict) else None
    return str(settings.get("algo") or ""), str(mode or "")


def _kind_of_run(home: Home, run_id: str) -> tuple[str, str] | None:
    try:
        stored = read_json(home.config(run_id))
        return _kind(stored["metadata"].get("worker", {}).get("config", {}))  # type: ignore[index]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
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
