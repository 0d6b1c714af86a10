"""Imports what a family needs, headless and quietly, or says which command installs it."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import warnings
from typing import Any

from cleanrl_worker.environments.families import DM_CONTROL, FAMILIES, GYMNASIUM, MUJOCO, Family
from mosaic.errors import DependencyError
from mosaic.fastlane.drawing import gl_backend

DRAWN_WITH_OPENGL = (MUJOCO, DM_CONTROL)  # the families; others draw with pygame or by themselves


def headless_variables(family: str) -> dict[str, str]:
    """Only for what the user has not set. Without them libraries look for a screen and crash."""
    variables = {"SDL_VIDEODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
    if family in DRAWN_WITH_OPENGL:
        variables["MUJOCO_GL"] = gl_backend() or "egl"
    return variables


_physics_log = logging.getLogger("cleanrl_worker.physics")
_seen_physics_warnings: set[str] = set()


def import_family(family: Family, env_id: str) -> Any:
    """Imports the family's packages, which register their ids, and returns gymnasium."""
    # Libraries read these when they are imported; without a display they would crash later.
    for name, value in headless_variables(family.name).items():
        os.environ.setdefault(name, value)
    gymnasium = import_package("gymnasium", FAMILIES[GYMNASIUM].install_command, env_id)
    for module in family.modules:
        import_package(module, family.install_command, env_id)
    _quieten_libraries()
    return gymnasium


def _quieten_libraries() -> None:
    """What they say on their own would land among the run's own lines, or in stray files."""
    if ale_py := sys.modules.get("ale_py"):
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # a banner
    if mujoco := sys.modules.get("mujoco"):
        mujoco.set_mju_user_warning(_note_physics_warning)
    if babyai := sys.modules.get("minigrid.envs.babyai.core.roomgrid_level"):
        vars(babyai)["print"] = _say_nothing  # a line for each draft of a level it throws away


def import_package(module: str, install_command: str, needed_by: str) -> Any:
    try:
        with warnings.catch_warnings():
            # Not ours to fix, and where warnings are errors Box2D's crash the interpreter.
            warnings.simplefilter("ignore", DeprecationWarning)
            return importlib.import_module(module)
    except ImportError as error:
        raise DependencyError(
            f"{needed_by} needs the package {module}, which cannot be imported: {error}",
            hint=install_command,
        ) from error


def _note_physics_warning(message: str) -> None:
    """Without a receiver MuJoCo writes MUJOCO_LOG.TXT into the current folder."""
    cause = message.partition(" Time = ")[0]
    if "is deprecated" in cause or cause in _seen_physics_warnings:
        return  # of a model file we did not write, or said before
    _seen_physics_warnings.add(cause)
    _physics_log.warning("MuJoCo: %s", message)


def _say_nothing(*_: object) -> None:
    pass
