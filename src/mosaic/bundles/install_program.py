"""One install or one pack as a process of its own: `python -m mosaic.bundles.install_program`.

It reads one line of JSON, a ProgramRequest, and prints one InstallProgress as JSON a line; the last
one says how it ended. SIGTERM cancels it. It ends with the process that started it; whatever
happens to it, the venv is whole or absent.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any

from mosaic.bundles.building import BuildRequest, build
from mosaic.bundles.install_report import Report
from mosaic.bundles.locks import read_lock
from mosaic.bundles.packing import PackRequest, pack
from mosaic.bundles.tool_runs import InstallCanceled
from mosaic.contracts.bundles import InstallPhase, InstallProgress
from mosaic.errors import BundleError
from mosaic.files import write_all
from mosaic.runhost.linux import die_with_parent

INSTALL, PACK = "install", "pack"
_MOST_REQUEST_BYTES = 2**24


@dataclass(frozen=True)
class ProgramRequest:
    """What the program is to do; `to_json` is the line that it reads."""

    lock: str  # its text
    target: str  # the place of the venv, or the folder of the wheels
    interpreter: str
    action: str = INSTALL
    imports: tuple[str, ...] = ()
    from_folder: str = ""
    # Of the bundles themselves, asked for what pip's own do not have.
    indexes: tuple[str, ...] = ()
    # Whoever starts it; with that process it ends. 0: whoever it is.
    parent: int = 0

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_json(cls, line: bytes) -> ProgramRequest:
        data: Mapping[str, Any] = json.loads(line)
        known = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        lists = {key: tuple(known.get(key, ())) for key in ("imports", "indexes")}
        return cls(**{**known, **lists})


class _Canceled:
    """Set by a signal, or by a reader that is gone; asked between and during all steps."""

    def __init__(self) -> None:
        self.is_set = False

    def __call__(self) -> bool:
        return self.is_set

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        self.is_set = True


def main() -> int:
    canceled = _Canceled()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, canceled.on_signal)
    # The progress has the output to itself, whatever else wants to print.
    output = os.dup(1)
    os.dup2(2, 1)

    def report(progress: InstallProgress) -> None:
        try:
            write_all(output, json.dumps(progress.to_dict()).encode() + b"\n")
        except OSError:  # nobody is there any more who wants it
            canceled.is_set = True

    line = sys.stdin.buffer.readline(_MOST_REQUEST_BYTES)
    try:
        request = ProgramRequest.from_json(line)
    except (ValueError, TypeError, AttributeError) as error:
        _fail(report, BundleError(f"This is no request: {error}", hint="report this as a fault"))
        return 2
    die_with_parent(request.parent or os.getppid(), signal.SIGTERM)
    try:
        _carry_out(request, report, canceled)
    except InstallCanceled:
        report(InstallProgress(InstallPhase.CANCELED))
        return 3
    except BundleError as error:
        _fail(report, error)
        return 1
    except Exception as error:  # noqa: BLE001 (the root of the program: whoever waits is told)
        traceback.print_exc()
        said = f"{type(error).__name__}: {error}"
        _fail(report, BundleError(f"MOSAIC itself failed: {said}", hint="report this as a fault"))
        return 1
    return 0


def _carry_out(request: ProgramRequest, report: Report, canceled: _Canceled) -> None:
    lock = read_lock(request.lock, "The lock")
    interpreter = Path(request.interpreter)
    if request.action == PACK:
        wanted = PackRequest(lock, Path(request.target), interpreter, indexes=request.indexes)
        pack(wanted, report, canceled)
        return
    from_folder = Path(request.from_folder) if request.from_folder else None
    build(
        BuildRequest(
            *(lock, Path(request.target), interpreter, request.imports, from_folder),
            indexes=request.indexes,
        ),
        report,
        canceled,
    )


def _fail(report: Report, error: BundleError) -> None:
    report(InstallProgress(InstallPhase.FAILED, message=error.message, hint=error.hint))


if __name__ == "__main__":
    sys.exit(main())
