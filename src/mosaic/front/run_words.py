"""A run in words: its state, how far it is, and how long that takes."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from mosaic.contracts.manifest import MAX_MANIFEST_BYTES
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.foreign_files import read_regular
from mosaic.foreign_json import parse_json
from mosaic.front.human import amount, count, decimal

_STATE_WORDS = {
    RunState.INIT: "queued",
    RunState.HSHK: "starting",
    RunState.RDY: "ready",
    RunState.EXEC: "running",
    RunState.PAUSE: "paused",
    RunState.FAULT: "failing",
}


_ORIGIN_WORDS = {
    Origin.SCRIPT: "recorded by a script",
    Origin.IMPORTED: "imported from an archive; nothing it names is started without asking",
}


def state_word(record: RunRecord) -> str:
    if record.outcome is not None:
        return record.outcome.value
    if record.stop_requested:
        return "stopping"
    if record.stalled:
        return "stalled"
    return _STATE_WORDS.get(record.state, record.state.value)


def origin_words(record: RunRecord) -> str:
    """Whose word the run's files are; empty for a run of this installation's own workers."""
    return _ORIGIN_WORDS.get(record.origin, "")


def memory_words(record: RunRecord) -> str:
    """What it may use; the record has to have its config."""
    resources = record.config.get("resources")
    megabytes = f"{count(record.memory_mb)} MB"
    if not isinstance(resources, dict):
        return megabytes
    return megabytes if "memory_mb" in resources else f"no limit, {megabytes} set aside"


def elapsed_s(record: RunRecord, now: float | None = None) -> float | None:
    if record.started_at is None:
        return None
    end = record.finished_at if record.finished_at is not None else (now or time.time())
    return max(0.0, end - record.started_at)


def remaining_s(record: RunRecord, now: float | None = None) -> float | None:
    """A guess from the speed, or from the share that is done; None when nothing is known."""
    progress = record.progress
    if record.is_over or progress.fraction is None or progress.fraction <= 0:
        return None
    if progress.total_steps and progress.steps_per_second:
        return (progress.total_steps - progress.steps) / progress.steps_per_second
    elapsed = elapsed_s(record, now)
    return None if elapsed is None else elapsed * (1 / progress.fraction - 1)


def steps_text(record: RunRecord) -> str:
    progress = record.progress
    text = count(progress.steps)
    if progress.total_steps:
        text += f"/{count(progress.total_steps)}"
    return f"{text} steps"


def progress_parts(record: RunRecord) -> list[str]:
    """What there is to say about the progress, most important first."""
    progress = record.progress
    parts = []
    if progress.steps or progress.total_steps:
        parts.append(steps_text(record))
    if progress.steps_per_second:
        parts.append(f"{decimal(progress.steps_per_second)} steps/s")
    if progress.total_episodes:
        parts.append(f"{count(progress.episodes)}/{count(progress.total_episodes)} episodes")
    elif progress.episodes:
        parts.append(amount(progress.episodes, "episode"))
    if progress.last_return is not None:
        parts.append(f"return {decimal(progress.last_return)}")
    if progress.mean_return is not None:
        parts.append(f"mean {decimal(progress.mean_return)}")
    return parts


def remarks_of(record: RunRecord) -> list[str]:
    """What the worker wants people to know: of the whole record, or where its files are here."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        manifest: Any = record.manifest
        if not manifest:
            manifest = parse_json(read_regular(Path(record.paths["manifest"]), MAX_MANIFEST_BYTES))
        return [str(remark) for remark in manifest["metadata"]["remarks"]]
    return []
