"""The variables a watched command sees: those of its worker, and where to report. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mosaic.contracts import worker_environment as variables
from mosaic.fastlane import settings
from mosaic.injection.variables import (
    ATTEMPT,
    BRIDGE,
    COMPATIBILITY,
    RECORDING_LIMIT,
    RECORDINGS,
)
from mosaic.watch.command import search_path
from mosaic.watch.config import ScriptConfig

# They speak to the worker. A script that took them for its own would write into its journal.
WORKERS_OWN = (
    variables.JOURNAL,
    variables.CONTROL,
    variables.TOKEN_FILE,
    variables.TRAINER_ADDRESS,
    COMPATIBILITY,
    RECORDINGS,
)
_MEGABYTE = 1_000_000


def script_environment(
    own: Mapping[str, str],
    config: ScriptConfig,
    *,
    bridge: str,
    import_folders: tuple[str, ...],
    recordings: str = "",
    attempt: int = 1,
) -> dict[str, str]:
    """`import_folders` come before the user's own on PYTHONPATH; `recordings` is a folder for
    recorded episodes, without which there are none."""
    hidden = {*WORKERS_OWN, *config.unset_variables}
    environment = {name: value for name, value in own.items() if name not in hidden}
    environment["PATH"] = search_path(own.get("PATH", os.defpath), config.env_python)
    environment["PYTHONPATH"] = _python_path(import_folders, own.get("PYTHONPATH", ""))
    environment[BRIDGE] = bridge
    environment[settings.VIDEO_MODE] = config.video_mode
    environment[settings.SLOT] = str(config.fastlane_slot)
    environment[settings.GRID_LIMIT] = str(config.fastlane_grid_limit)
    if recordings:
        environment[RECORDINGS] = recordings
        environment[ATTEMPT] = str(attempt)
        environment[RECORDING_LIMIT] = str(config.recording_limit_mb * _MEGABYTE)
    if config.compatibility:
        environment[COMPATIBILITY] = "1"
    return environment


def _python_path(folders: tuple[str, ...], users: str) -> str:
    """Without empty pieces, which would mean the current directory."""
    return os.pathsep.join(part for part in (*folders, *users.split(os.pathsep)) if part)
