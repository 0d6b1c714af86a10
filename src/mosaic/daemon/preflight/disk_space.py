"""There is room below the home directory for what the run will write."""

from __future__ import annotations

import os
import shutil

from mosaic.daemon.preflight.disk_need import disk_need, planned_length
from mosaic.daemon.preflight.past_runs import similar_runs
from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.errors import DiskSpaceError, HomeError

CHECK = "disk space"
MIN_FREE_VARIABLE = "MOSAIC_MIN_FREE_MB"
DEFAULT_MIN_FREE_MB = 200


def min_free_mb() -> int:
    text = os.environ.get(MIN_FREE_VARIABLE, "").strip()
    return int(text) if text.isdecimal() else DEFAULT_MIN_FREE_MB


def check(subject: Subject) -> list[PreflightResult]:
    root, limit = subject.home.root, min_free_mb()
    try:
        free = shutil.disk_usage(root).free // 1_000_000
    except OSError as error:
        message = f"The home directory {root} cannot be used: {error.strerror}"
        return [PreflightResult(CHECK, False, message, "create it", error=HomeError)]
    if free < limit:
        return [
            PreflightResult(
                CHECK,
                False,
                f"Only {free} MB are free below {root}; {limit} MB are needed",
                f"delete old runs, or set {MIN_FREE_VARIABLE}",
                error=DiskSpaceError,
                details={"free_mb": free, "needed_mb": limit},
            )
        ]
    return [_judged(subject, free, limit)]


def _judged(subject: Subject, free: int, limit: int) -> PreflightResult:
    """An estimate may be wrong, so it warns and never refuses."""
    entry = subject.command.entry
    lane = entry.capabilities.lane if entry and entry.capabilities else None
    past = similar_runs(subject.config, subject.home, subject.past)
    need = disk_need(planned_length(subject.config), past, lane)
    if need is None:
        return PreflightResult(CHECK, True, f"{free} MB free")
    needed = max(1, need.bytes // 1_000_000)
    message = f"{free} MB free; the run will write about {needed} MB ({need.basis})"
    if needed + limit <= free:
        return PreflightResult(CHECK, True, message)
    return PreflightResult(
        CHECK,
        False,
        message,
        "free some space (`mosaic clean`, `mosaic trash --empty`), or make the run shorter",
        required=False,
        details={"free_mb": free, "needed_mb": needed},
    )
