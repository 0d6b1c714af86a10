"""Renderer: frames of an environment that leave no trace in the script.

The environment is as the script made it. Only for the duration of a call it is asked for arrays,
and what libraries would do to the process meanwhile (windows, signal handlers, random numbers) is
kept from them or undone.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from mosaic.fastlane.drawing import NO_GL, gl_backend, plain_drawing


def drawing_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """For SDL, which pygame starts when an environment is first drawn."""
    # Otherwise SDL takes SIGTERM for itself, and the script can no longer be asked to end.
    wanted = {"SDL_NO_SIGNAL_HANDLERS": "1"}
    if not variables.get("DISPLAY") and not variables.get("WAYLAND_DISPLAY"):
        wanted["SDL_VIDEODRIVER"] = "dummy"
        wanted["SDL_AUDIODRIVER"] = "dummy"  # it looks for a sound card, loudly
    return wanted


ARRAY = "rgb_array"


def reason_without_view(env: Any) -> str | None:
    """Why this environment cannot be shown; None when it can."""
    mode = getattr(env, "render_mode", None)
    if mode == ARRAY:
        return None
    if mode is not None:
        return f'the script renders it itself, in mode "{mode}"'
    metadata = getattr(env, "metadata", None) or {}
    modes = metadata.get("render_modes") or metadata.get("render.modes") or ()
    return None if ARRAY in modes else "it cannot be rendered as an array"


class Renderer:
    def __init__(self, unwrapped: Any) -> None:
        self._env = weakref.ref(unwrapped)  # the live view keeps no environment alive

    def __call__(self) -> Any:
        env = self._env()
        if env is None:
            raise ValueError("it is gone")
        variables = dict(drawing_variables(os.environ))
        if hasattr(env, "mujoco_renderer"):
            variables.update(_mujoco_variables(os.environ))
        with set_meanwhile(variables), unchanged_randomness(env):
            try:
                return _array_of(env)
            except SystemExit as error:  # the script ends when it wants to, not when it is watched
                raise RuntimeError("its render() wants to end the program") from error


def _mujoco_variables(variables: Mapping[str, str]) -> dict[str, str]:
    if variables.get("DISPLAY") or variables.get("MUJOCO_GL"):
        return {}
    backend = gl_backend()
    if backend is None:
        raise RuntimeError(NO_GL)
    return {"MUJOCO_GL": backend}


def _array_of(env: Any) -> Any:
    if not hasattr(env, "render_mode"):
        return env.render(mode=ARRAY)  # before Gym 0.26
    if env.render_mode is not None:
        return env.render()
    env.render_mode = ARRAY
    try:
        with plain_drawing(env):
            return env.render()
    finally:
        env.render_mode = None


@contextlib.contextmanager
def set_meanwhile(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that are not set otherwise."""
    added = [name for name in variables if name not in os.environ]
    for name in added:
        os.environ[name] = variables[name]
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextlib.contextmanager
def unchanged_randomness(env: Any) -> Iterator[None]:
    """An environment that draws random numbers as it draws itself trains as if nobody looked."""
    numpy_random: Any = sys.modules.get("numpy.random")
    ours = random.getstate()
    theirs = numpy_random.get_state(legacy=False) if numpy_random is not None else None
    generator: Any = getattr(env, "_np_random", None)
    state = getattr(getattr(generator, "bit_generator", None), "state", None)
    try:
        yield
    finally:
        random.setstate(ours)
        if theirs is not None:
            numpy_random.set_state(theirs)
        if state is not None:
            env._np_random = generator
            generator.bit_generator.state = state
        elif generator is None and getattr(env, "_np_random", None) is not None:
            env._np_random = None
