"""Whether a window can be opened here: Qt itself would end the program with a core dump.

`python -m mosaic.gui.display` says it in a line and ends with 0, 1 (a library is missing) or
2 (there is no display). Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

# What Qt's two plugins for Linux need beyond what PySide6 brings, with Debian's package for each.
_EVERY_WINDOW = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
}
XCB = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libdbus-1.so.3": "libdbus-1-3",
    **_EVERY_WINDOW,
}
WAYLAND = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libxkbcommon.so.0": "libxkbcommon0",
    **_EVERY_WINDOW,
}
LIBRARY_MISSING, NO_DISPLAY = 1, 2


@dataclass(frozen=True)
class Obstacle:
    message: str
    hint: str
    packages: tuple[str, ...] = ()  # that would remove it


def find_obstacle(
    environ: Mapping[str, str],
    platform: str = sys.platform,
    can_load: Callable[[str], bool] | None = None,
    answers: Callable[[str], bool] | None = None,
) -> Obstacle | None:
    """Why no window can be opened; None where one can, or where only trying would tell."""
    chosen = environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if not platform.startswith("linux") or chosen not in ("", "xcb", "wayland"):
        return None
    can_load, answers = can_load or _can_load, answers or _x_server_answers
    x_display = environ.get("DISPLAY", "") if chosen != "wayland" else ""
    has_wayland = chosen != "xcb" and _has_wayland(environ)
    if not x_display and not has_wayland:
        return Obstacle(
            "There is no display here for a window",
            "log in with a desktop or `ssh -X`, or use the command line: `mosaic train`",
        )
    if has_wayland and not _missing(WAYLAND, can_load):
        return None  # Qt tries it first
    missing = _missing(XCB if x_display else WAYLAND, can_load)
    if missing:
        return Obstacle(
            f"Qt needs system libraries that are missing: {', '.join(missing)}",
            f"sudo apt-get install {' '.join(missing.values())}",
            tuple(missing.values()),
        )
    if x_display and not answers(x_display):
        return Obstacle(
            f"The display {x_display} does not answer",
            "see that DISPLAY is right and that you may use it (`xhost`, `ssh -X`)",
        )
    return None


def _missing(libraries: Mapping[str, str], can_load: Callable[[str], bool]) -> dict[str, str]:
    return {name: package for name, package in libraries.items() if not can_load(name)}


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _has_wayland(environ: Mapping[str, str]) -> bool:
    name = environ.get("WAYLAND_DISPLAY", "")
    return bool(name) and (Path(environ.get("XDG_RUNTIME_DIR", "/")) / name).exists()


def _x_server_answers(display: str) -> bool:
    """Asks as Qt will; True where that cannot be found out."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(os.fsencode(display), None)
    is_broken = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not is_broken


def main() -> int:
    found = find_obstacle(os.environ)
    if found is None:
        return 0
    print(f"{found.message}: {found.hint}", file=sys.stderr)
    return LIBRARY_MISSING if found.packages else NO_DISPLAY


if __name__ == "__main__":
    sys.exit(main())
