"""`mosaic gui`: the desktop workbench."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from typing import Any

from mosaic.cli.shared.clients import async_client_opener, home_of
from mosaic.errors import DependencyError, RequestError

_PACKAGES = ("PySide6", "pyqtgraph", "superqt", "qtawesome", "psygnal")


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "gui",
        help="open the desktop workbench",
        description=(
            "Opens the desktop workbench. It needs the extra `gui` and a display, and says so when "
            "one of them, or a library of the display, is missing. With $MOSAIC_ADDRESS it shows "
            "the runs of that daemon; live frames only come from the same machine."
        ),
    )
    # For benchmarks: says when the window can be used, and closes it again.
    parser.add_argument("--exit-when-shown", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(handler=open_workbench)


def open_workbench(arguments: argparse.Namespace) -> int:
    check_packages()
    check_display()
    try:
        from mosaic.gui.application import run_workbench
    except ImportError as error:
        # PySide6 is there, and something that it is built on is not: often OpenGL's libraries.
        raise DependencyError(
            f"Qt cannot be loaded: {error}",
            hint="sudo apt-get install libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1",
        ) from error

    opener, is_remote = async_client_opener(arguments)
    shown = say_shown if arguments.exit_when_shown else None
    return run_workbench(home_of(arguments), opener, is_remote, shown)


def check_packages() -> None:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise DependencyError(
            f"The workbench needs {', '.join(missing)}", hint='pip install "mosaic-rl[gui]"'
        )


def check_display() -> None:
    from mosaic.gui.display import find_obstacle

    found = find_obstacle(os.environ, sys.platform)
    if found is not None:
        kind = DependencyError if found.packages else RequestError
        raise kind(found.message, hint=found.hint)


def say_shown() -> bool:
    """False: the window is not needed any longer."""
    print("shown", flush=True)
    return False
