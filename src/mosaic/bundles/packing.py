"""Makes a folder of wheels from which a machine without a network installs a bundle."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.bundles.building import system_error
from mosaic.bundles.install_report import InstallReport, Report
from mosaic.bundles.installing import Installer, Workspace, missing_wheels, require_room
from mosaic.bundles.locks import Lock
from mosaic.bundles.tool_runs import InstallCanceled
from mosaic.contracts.bundles import InstallPhase
from mosaic.errors import BundleError
from mosaic.files import atomic_write, make_directory, sync_directory, sync_file


@dataclass(frozen=True)
class PackRequest:
    """Wheels that somebody wants to carry elsewhere."""

    lock: Lock
    folder: Path
    interpreter: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    indexes: tuple[str, ...] = ()  # asked for what pip's own do not have


def pack(
    request: PackRequest, report: Report, is_canceled: Callable[[], bool] = lambda: False
) -> Path:
    """The lock's copy in the folder, which is put there when every wheel of it is.

    Several bundles may share a folder. Raises BundleError or InstallCanceled; then the folder has
    whole wheels at most, and no lock that it cannot serve.
    """
    lock, folder = request.lock, request.folder
    progress = InstallReport(report, lock.fetch_bytes)
    try:
        make_directory(folder)
        with tempfile.TemporaryDirectory(prefix="mosaic-pack-") as elsewhere:
            _fetch(request, progress, is_canceled, elsewhere)
        if missing := missing_wheels(folder, lock.packages):
            raise BundleError(
                f"{missing[0].name} {missing[0].version} did not come.",
                hint="pack it again",
                bundle=lock.bundle,
            )
        tag = lock.python.replace(".", "")
        copy = folder / f"{lock.bundle}-py{tag}-{lock.accelerator.value}.txt"
        atomic_write(copy, lock.text.encode(), mode=0o644)
    except OSError as error:
        raise system_error(error, lock.bundle, folder) from error
    progress.tell(InstallPhase.DONE)
    return copy


def _fetch(
    request: PackRequest,
    progress: InstallReport,
    is_canceled: Callable[[], bool],
    elsewhere: str,
) -> None:
    folder = request.folder
    name = f"mosaic-pack-{request.lock.bundle}"
    workspace = Workspace(folder / f".{name}.tmp", folder / f"{name}.log", is_canceled)
    keep_log = True
    progress.tell(InstallPhase.FETCHING)
    try:
        # pip runs in it; a stick knows no symbolic links.
        workspace.venv = Path(elsewhere) / "venv"
        installer = Installer(
            request.lock,
            request.interpreter,
            None,
            request.environment,
            workspace,
            progress,
            request.indexes,
        )
        installer.use_pip()
        installer.probe()
        # Twice for a moment: pip copies what it has fetched.
        require_room(workspace.folder, 2 * request.lock.fetch_bytes, request.lock.bundle)
        installer.make_venv()
        installer.fetch()
        for wheel in sorted(workspace.wheels.iterdir()):
            sync_file(wheel)
            with contextlib.suppress(PermissionError):  # nor modes
                wheel.chmod(0o644)
            wheel.replace(folder / wheel.name)
        sync_directory(folder)
        keep_log = False
    except InstallCanceled:
        keep_log = False
        raise
    finally:
        workspace.close(keep_log=keep_log)
