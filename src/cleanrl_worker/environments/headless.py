"""Drawing without a screen: which variables libraries have to find when they are imported."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache

from cleanrl_worker.environments.families import DM_CONTROL, MUJOCO

DRAWN_WITH_OPENGL = (MUJOCO, DM_CONTROL)  # the families; others draw with pygame or by themselves
# MUJOCO_GL and the library it stands for, the better one first: EGL draws on a GPU where there is
# one, OSMesa always on the CPU.
_DRIVERS = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}
NO_DRIVER = (
    "there is neither libEGL nor libOSMesa to draw with (Debian, Ubuntu: libegl1, libosmesa6)"
)


def headless_variables(family: str) -> dict[str, str]:
    """Only for what the user has not set. Without them libraries look for a screen and crash."""
    variables = {"SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
    if family in DRAWN_WITH_OPENGL:
        usable = [name for name, library in _DRIVERS.items() if is_loadable(library)]
        variables["MUJOCO_GL"] = usable[0] if usable else "egl"
    return variables


def has_driver(variables: Mapping[str, str]) -> bool:
    """Whether what MUJOCO_GL says can work; a value we do not know is the user's own affair."""
    library = _DRIVERS.get(variables.get("MUJOCO_GL", ""))
    return library is None or is_loadable(library)


@cache
def is_loadable(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
