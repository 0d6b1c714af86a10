"""Pictures of MuJoCo environments for the live view, at a fraction of their price.

Without a graphics card, shadows, mirrors and smoothed edges are nine tenths of what a picture
costs, and for that time the training stands still.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def plain_drawing(core: Any) -> Iterator[None]:
    """While it lasts, an environment without wrappers draws plainly. Others are left alone.

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
