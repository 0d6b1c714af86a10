"""`mosaic gui`: the desktop workbench."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from typing import Any

from mosaic.cli.session import async_client_opener, home_of
from mosaic.errors import DependencyError, RequestError

_PACKAGES = ("PySide6", "pyqtgraph", "superqt", "qtawesome", "psygnal")


def add(commands: Any) -> None:
    parser = commands.add_parser("gui", help="open the desktop workbench")
    parser.set_defaults(handler=open_workbench)


def open_workbench(arguments: argparse.Namespace) -> int:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise DependencyError(
            f"The workbench needs {', '.join(missing)}", hint='pip install "mosaic-rl[gui]"'
        )
    if not has_display(os.environ, sys.platform):
        raise RequestError(
            "There is no display here for a window",
            hint="log in with a desktop or `ssh -X`, or use the command line: `mosaic train`",
        )
    from mosaic.gui.application import run_workbench

    opener, is_remote = async_client_opener(arguments)
    return run_workbench(home_of(arguments), opener, is_remote)


def has_display(environ: Any, platform: str) -> bool:
    if not platform.startswith("linux") or environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
