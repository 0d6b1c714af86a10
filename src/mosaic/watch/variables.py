"""The variables a watched command sees: its worker's, where to report, the folders of our hooks."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import mosaic
from mosaic.contracts import worker_environment as variables
from mosaic.fastlane import settings
from mosaic.injection.variables import (
    ATTEMPT,
    BRIDGE,
    COMPATIBILITY,
    RECORDING_LIMIT,
    RECORDINGS,
    SITE_FOLDER,
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


def script_variables(
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


# -- The folders its interpreter imports our hooks from


def has_own_mosaic(folder: Path) -> bool:
    """Whether a script in this folder has a `mosaic` of its own: it would get ours instead."""
    theirs = folder / "mosaic" / "__init__.py"
    is_package = theirs.is_file() and not theirs.samefile(mosaic.__file__)
    return is_package or (folder / "mosaic.py").is_file()


def without_our_folders(python_path: str) -> tuple[str, ...]:
    """The folders of a PYTHONPATH, but for those by which a worker finds MOSAIC: one that holds a
    link to it and nothing else."""
    folders = tuple(part for part in python_path.split(os.pathsep) if part)
    return tuple(folder for folder in folders if not _is_ours(Path(folder)))


def _is_ours(folder: Path) -> bool:
    link = folder / "mosaic"
    return link.is_symlink() and link.samefile(Path(mosaic.__file__).parent)


@contextlib.contextmanager
def import_folders(run_directory: Path | None) -> Iterator[tuple[str, ...]]:
    """For PYTHONPATH: the folder of our sitecustomize, and one with `mosaic` and nothing else.

    All of our site-packages would hide the libraries of another interpreter behind ours.
    """
    with contextlib.ExitStack() as cleanup:
        if run_directory is None:
            folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="mosaic-sdk-"))
            sdk = Path(folder)
        else:
            sdk = run_directory / "sdk"
            sdk.mkdir(mode=0o700, exist_ok=True)
            cleanup.callback(_remove, sdk)
        link = sdk / "mosaic"
        link.unlink(missing_ok=True)  # of an attempt that was killed
        link.symlink_to(Path(mosaic.__file__).parent)
        yield str(SITE_FOLDER), str(sdk)


def _remove(sdk: Path) -> None:
    with contextlib.suppress(OSError):
        (sdk / "mosaic").unlink()
        sdk.rmdir()
