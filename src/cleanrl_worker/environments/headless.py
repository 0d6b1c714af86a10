"""Drawing without a screen: which variables libraries have to find when they are imported."""

from __future__ import annotations

from cleanrl_worker.environments.families import DM_CONTROL, MUJOCO
from mosaic.fastlane.gl_probe import gl_backend

DRAWN_WITH_OPENGL = (MUJOCO, DM_CONTROL)  # the families; others draw with pygame or by themselves


def headless_variables(family: str) -> dict[str, str]:
    """Only for what the user has not set. Without them libraries look for a screen and crash."""
    variables = {"SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
    if family in DRAWN_WITH_OPENGL:
        variables["MUJOCO_GL"] = gl_backend() or "egl"
    return variables
