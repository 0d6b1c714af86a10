"""What can draw without a screen: EGL on a graphics card or in software, else OSMesa."""

from __future__ import annotations

import ctypes
import functools

NO_GL = "there is neither libEGL nor libOSMesa to draw with (Debian, Ubuntu: libegl1, libosmesa6)"
# By the names the loader knows: asking `ctypes.util.find_library` would run programs.
_LIBRARIES = {
    "egl": ("libEGL.so.1", "libEGL.so"),
    "osmesa": ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),
}


def gl_backend() -> str | None:
    """For MUJOCO_GL: the first one whose library can be loaded."""
    return next(filter(can_draw, _LIBRARIES), None)


def can_draw(backend: str) -> bool:
    """Whether what MUJOCO_GL says can work; a value we do not know is the user's own affair."""
    libraries = _LIBRARIES.get(backend)
    return libraries is None or any(map(_can_load, libraries))


@functools.lru_cache
def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
