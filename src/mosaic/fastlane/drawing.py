"""Drawing for the live view: what can draw without a screen, and MuJoCo at a lower price."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterator
from typing import Any

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
    """Whether the value of MUJOCO_GL can work; an unknown one is left to the user."""
    libraries = _LIBRARIES.get(backend)
    return libraries is None or any(map(_can_load, libraries))


@functools.lru_cache
def _can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


# -- MuJoCo: without a graphics card, shadows, mirrors and smoothed edges are nine tenths of what a
# picture costs, and for that time the training stands still


@contextlib.contextmanager
def plain_drawing(core: Any) -> Iterator[None]:
    """While it lasts, an environment without wrappers draws plainly, with a camera that follows.
    Others are left alone.

    Only for environments that nobody else draws: shadows and edges are settled with the first
    picture, for all that follow.
    """
    model = _model_of(core)
    if model is None:
        yield
        return
    _use_own_context(core)
    quality, reflectance = model.vis.quality, model.mat_reflectance
    before = quality.offsamples, quality.shadowsize, reflectance.copy()
    quality.offsamples = quality.shadowsize = 0
    reflectance[:] = 0
    try:
        with _following(core, model):
            yield
    finally:
        quality.offsamples, quality.shadowsize, reflectance[:] = before


def _model_of(core: Any) -> Any:
    """Of Gymnasium's environments, or of one of DeepMind Control behind its adapter."""
    if hasattr(core, "mujoco_renderer"):
        return getattr(core, "model", None)
    return getattr(getattr(getattr(core, "_env", None), "physics", None), "model", None)


def _use_own_context(core: Any) -> None:
    """Gymnasium draws in whichever OpenGL context was used last, also that of another one."""
    viewer = getattr(getattr(core, "mujoco_renderer", None), "viewer", None)
    if viewer is not None:
        viewer.make_context_current()


_FREE_CAMERA, _FOLLOWING_CAMERA = -1, "track"


@contextlib.contextmanager
def _following(core: Any, model: Any) -> Iterator[None]:
    """Gymnasium's free camera stands still, and what runs has soon left the picture."""
    renderer: Any = getattr(core, "mujoco_renderer", None)
    mujoco: Any = sys.modules.get("mujoco")
    if mujoco is None or getattr(renderer, "camera_id", None) != _FREE_CAMERA:
        yield
        return
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, _FOLLOWING_CAMERA)
    renderer.camera_id = camera  # the free one again, where there is no such camera
    try:
        yield
    finally:
        renderer.camera_id = _FREE_CAMERA
