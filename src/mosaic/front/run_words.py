"""A run in words: its state, how far it is, how long that takes, and its actions."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from mosaic.contracts.manifest import MAX_MANIFEST_BYTES
from mosaic.contracts.metrics import EPISODES_IN_MEAN
from mosaic.contracts.run_record import LineageKind, Origin, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.foreign.files import parse_json, read_regular
from mosaic.front.human import amount, count, decimal, duration

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

LINEAGE_WORDS = {
    LineageKind.RESUMED: "resumes",
    LineageKind.EVALUATED: "evaluates",
    LineageKind.PLAYED: "plays",
    LineageKind.WARM_STARTED: "starts from",
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


def lineage_words(record: RunRecord) -> str:
    """Which run's checkpoint it came from, and what it does with it; empty where there is none."""
    lineage = record.lineage
    if lineage is None:
        return ""
    step = "" if lineage.step is None else f", step {count(lineage.step)}"
    return f"{LINEAGE_WORDS[lineage.kind]} {lineage.parent_run}{step}"


def goes_words(goes_at: float | None, now: float | None = None) -> str:
    """When a run in the trash goes for good: `in 6 d 23 h`, `within the hour`."""
    if goes_at is None:
        return "not by itself"
    left = goes_at - (time.time() if now is None else now)
    if left < 3600:  # the trash is looked at every hour
        return "within the hour"
    return f"in {duration(left)}"


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
    """A guess from the speed, or from the share that is done; None when nothing is known.

    While it is paused nobody knows.
    """
    progress = record.progress
    if record.is_over or record.state is RunState.PAUSE:
        return None
    if progress.fraction is None or progress.fraction <= 0:
        return None
    speed = progress.steps_per_second or progress.overall_steps_per_second
    if progress.total_steps and speed:
        return max(0, progress.total_steps - progress.steps) / speed
    # Of a plan in episodes: as long as the share that is done took, pauses left out.
    took = progress.steps / speed if speed else elapsed_s(record, now)
    return None if took is None else took * (1 / progress.fraction - 1)


def speed_of(record: RunRecord) -> float | None:
    """Steps a second: now while it runs, overall when it is over; None while it is paused."""
    progress = record.progress
    if record.is_over:
        return progress.overall_steps_per_second or progress.steps_per_second
    return None if record.state is RunState.PAUSE else progress.steps_per_second


def speed_name(record: RunRecord) -> str:
    return "steps/s overall" if record.is_over else "steps/s"


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
    if speed := speed_of(record):
        parts.append(f"{decimal(speed)} {speed_name(record)}")
    if progress.total_episodes:
        parts.append(f"{count(progress.episodes)}/{count(progress.total_episodes)} episodes")
    elif progress.episodes:
        parts.append(amount(progress.episodes, "episode"))
    if progress.last_return is not None:
        parts.append(f"last return {decimal(progress.last_return)}")
    if progress.mean_return is not None:
        parts.append(f"mean of last {EPISODES_IN_MEAN} {decimal(progress.mean_return)}")
    return parts


def remarks_of(record: RunRecord) -> list[str]:
    """What the worker wants people to know: of the whole record, or where its files are here."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        manifest: Any = record.manifest
        if not manifest:
            manifest = parse_json(read_regular(Path(record.paths["manifest"]), MAX_MANIFEST_BYTES))
        return [str(remark) for remark in manifest["metadata"]["remarks"]]
    return []


_LONGEST_ACTION = 40


def action_text(action: Any) -> str:
    """Numbers of an array with four digits; cut where it is long."""
    if hasattr(action, "tolist"):
        action = action.tolist()
    text = _short_action(action)
    return text if len(text) <= _LONGEST_ACTION else f"{text[: _LONGEST_ACTION - 1]}…"


def _short_action(value: Any) -> str:
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(_short_action, value))}]"
    return str(value)
