"""Pictures of environments that were made without a render mode."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import gymnasium
from numpy.typing import NDArray

from cleanrl_worker.environments.families import family_of
from cleanrl_worker.environments.headless import DRAWN_WITH_OPENGL
from mosaic.errors import WorkerError
from mosaic.fastlane.gl_probe import NO_GL, can_draw
from mosaic.fastlane.mujoco_drawing import plain_drawing

_MODE = "rgb_array"


def rendered(env: gymnasium.Env[Any, Any]) -> NDArray[Any]:
    """What it looks like now, RGB. Its render mode is another for this call only: some environments
    do more in each step when they have one.

    Raises WorkerError where nothing can be drawn, and whatever drivers raise.
    """
    core: Any = env.unwrapped
    if _MODE not in core.metadata.get("render_modes", ()):
        raise WorkerError("it draws no pictures")
    needs_driver = core.spec is not None and family_of(core.spec.id).name in DRAWN_WITH_OPENGL
    if needs_driver and not can_draw(os.environ.get("MUJOCO_GL", "")):
        raise WorkerError(NO_GL)
    before = core.render_mode
    core.render_mode = _MODE
    try:
        # Where videos are recorded too, they shall be as beautiful as ever.
        with plain_drawing(core) if before is None else contextlib.nullcontext():
            picture: NDArray[Any] = core.render()
    finally:
        core.render_mode = before
    return picture
