"""Drawing without a display: what SDL and MuJoCo have to be told."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping

NO_GL = "neither EGL nor OSMesa is installed"
# By the names the loader knows: asking `ctypes.util.find_library` would run programs.
_LIBRARIES = {
    "egl": ("libEGL.so.1", "libEGL.so"),
    "osmesa": ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),
}


def drawing_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """For SDL, which pygame starts when an environment is first drawn."""
    # Otherwise SDL takes SIGTERM for itself, and the script can no longer be asked to end.
    wanted = {"SDL_NO_SIGNAL_HANDLERS": "1"}
    if not variables.get("DISPLAY") and not variables.get("WAYLAND_DISPLAY"):
        wanted["SDL_VIDEODRIVER"] = "dummy"
        wanted["SDL_AUDIODRIVER"] = "dummy"  # it looks for a sound card, loudly
    return wanted


@functools.lru_cache(maxsize=1)
def gl_backend() -> str | None:
    """For MUJOCO_GL: the first one whose library can be loaded."""
    for backend, libraries in _LIBRARIES.items():
        if any(_can_load(library) for library in libraries):
            return backend
    return None


def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
