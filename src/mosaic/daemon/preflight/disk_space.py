"""There is room below the home directory for what the run will write."""

from __future__ import annotations

import os
import shutil

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
    return [PreflightResult(CHECK, True, f"{free} MB free")]
