"""Makes a venv from a lock: beside its place, tested, marked, then renamed into it.

    lock -> workspace -> fetch -> install -> import test -> marker -> rename

Nobody ever sees half of one: until the rename there is nothing at the place. Whatever ends a build
before that (a signal, a power cut, a full disk) leaves at most the workspace, which the next build
or the next start of the daemon deletes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mosaic.bundles.install_report import InstallReport, Report
from mosaic.bundles.installing import Installer, Interpreter, Workspace
from mosaic.bundles.locks import Lock
from mosaic.bundles.tool_output import full_disk
from mosaic.bundles.tool_runs import TICK_S, InstallCanceled
from mosaic.bundles.venv_contents import disk_bytes, retarget
from mosaic.bundles.venv_store import (
    FOUND_BROKEN,
    LOCK_TEXT,
    MARKER,
    VenvMarker,
    broken_problem,
    build_folder,
    delete_trash,
    log_of,
    put_away,
    try_lock,
    unlock,
)
from mosaic.contracts.bundles import InstallPhase
from mosaic.errors import BundleError
from mosaic.files import atomic_write, atomic_write_json, make_directory, sync_directory

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class BuildRequest:
    """A venv that somebody wants."""

    lock: Lock
    target: Path  # its place in the store, see `VenvStore.path_of`
    interpreter: Path
    imports: tuple[str, ...] = ()
    # Wheels of `mosaic bundles pack`; then nothing is fetched from anywhere.
    from_folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    indexes: tuple[str, ...] = ()  # asked for what pip's own do not have


def build(
    request: BuildRequest, report: Report, is_canceled: Callable[[], bool] = lambda: False
) -> Path:
    """The path of the whole venv. Raises BundleError or InstallCanceled; then nothing is left.

    Where somebody else builds the same one, it waits for them and finds it done. One that is broken
    is made again; whoever calls this has seen to it that no run uses it.
    """
    bundle, target = request.lock.bundle, request.target
    progress = InstallReport(report, request.lock.fetch_bytes)
    try:
        make_directory(target.parent, mode=0o700)
        lock_fd = _wait_for_lock(target, progress, is_canceled)
        try:
            if broken_problem(target):  # nothing is started in it any more
                request = _without_cache_if_changed(request)
                delete_trash(put_away(target))
            if not target.exists():
                _build(request, progress, lock_fd, is_canceled)
        finally:
            unlock(target, lock_fd)
    except OSError as error:
        raise system_error(error, bundle, target.parent) from error
    progress.tell(InstallPhase.DONE)
    return target


def _wait_for_lock(target: Path, progress: InstallReport, is_canceled: Callable[[], bool]) -> int:
    while (fd := try_lock(target)) is None:
        if is_canceled():
            raise InstallCanceled
        progress.tell(InstallPhase.WAITING)
        time.sleep(TICK_S)
    return fd


def _without_cache_if_changed(request: BuildRequest) -> BuildRequest:
    """Whoever wrote into a file of the venv that was there has written into uv's cache as well:
    both are one file, which uv would link again as it is."""
    if not (request.target / FOUND_BROKEN).exists():
        return request
    cache = build_folder(request.target) / "cache"  # beside it, so that its files are linked, too
    return replace(request, environment={**request.environment, "UV_CACHE_DIR": str(cache)})


def _build(
    request: BuildRequest,
    progress: InstallReport,
    lock_fd: int,
    is_canceled: Callable[[], bool],
) -> None:
    folder, log = build_folder(request.target), log_of(request.target)
    workspace = Workspace(folder, log, is_canceled, [lock_fd])
    keep_log = True
    progress.tell(InstallPhase.FETCHING)
    try:
        installer = Installer(
            request.lock,
            request.interpreter,
            request.from_folder,
            request.environment,
            workspace,
            progress,
            request.indexes,
        )
        interpreter = installer.probe()
        installer.check_folder()
        installer.check_room()
        installer.make_venv()
        installer.fetch()
        installer.install()
        retarget(workspace.venv, request.target)
        installer.import_all(request.imports)
        _mark(workspace.venv, request.lock, interpreter)
        _sync_file_system(workspace.venv)
        workspace.runner.check_canceled()
        workspace.venv.rename(request.target)
        sync_directory(request.target.parent)
        keep_log = False
    except InstallCanceled:
        keep_log = False
        raise
    finally:
        workspace.close(keep_log=keep_log)


def _mark(venv: Path, lock: Lock, interpreter: Interpreter) -> None:
    atomic_write(venv / LOCK_TEXT, lock.text.encode())
    marker = VenvMarker(
        name=lock.bundle,
        lock_hash=lock.hash,
        python=interpreter.version,
        interpreter=interpreter.executable,
        accelerator=lock.accelerator,
        installed_at=time.time(),
        disk_bytes=disk_bytes(venv),
    )
    atomic_write_json(venv / MARKER, marker.to_dict())


def _sync_file_system(folder: Path) -> None:
    """All of the venv onto the disk before its name is: tens of thousands of files at once."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if _libc.syncfs(fd) != 0:
            os.sync()
    finally:
        os.close(fd)


def system_error(error: OSError, bundle: str, folder: Path) -> BundleError:
    """What the system refused us ourselves, outside of any tool."""
    if error.errno in _FULL:
        message, hint = full_disk(bundle, folder)
    else:
        place = error.filename if isinstance(error.filename, str) else str(folder)
        message = f"{bundle} cannot be installed: {place}: {error.strerror}."
        hint = f"make {folder} a folder that you can write into, or set MOSAIC_HOME to another"
    return BundleError(message, hint=hint, bundle=bundle)
