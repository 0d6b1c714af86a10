"""MujocoSnapshots: the full state of the physics engine, and what the task reads besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.environments.snapshots.snapshots import DirectSnapshots

# What the tasks draw at a reset and keep outside the engine: Reacher's and Pusher's places.
_DRAWN = ("goal", "goal_pos", "cylinder_pos")


class MujocoSnapshots(DirectSnapshots):
    """The engine computes positions of bodies before it moves the joints, and tasks read them
    after. They lag a step behind and would be lost if only the joints were kept.
    """

    method = "mujoco"

    def _take_core(self) -> dict[str, Any]:
        import mujoco

        task = self._env.unwrapped
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(task.model, kind))
        mujoco.mj_getState(task.model, task.data, state, kind)
        derived = {name: array.copy() for name, array in _arrays(task.data).items()}
        drawn = {name: np.array(getattr(task, name)) for name in _DRAWN if hasattr(task, name)}
        return {"state": state, "derived": derived, "drawn": drawn}

    def _put_core_back(self, core: Mapping[str, Any]) -> None:
        import mujoco

        task = self._env.unwrapped
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        size = mujoco.mj_stateSize(task.model, kind)
        state = _numbers(core["state"], (size,)).astype(np.float64)
        drawn = {
            name: _numbers(value, np.asarray(getattr(task, name, ())).shape)
            for name, value in core["drawn"].items()
            if name in _DRAWN
        }
        mujoco.mj_resetData(task.model, task.data)
        mujoco.mj_setState(task.model, task.data, state, kind)
        for name, array in _arrays(task.data).items():
            saved = core["derived"].get(name)
            if saved is not None and np.shape(saved) == array.shape:
                array[...] = _numbers(saved, array.shape)
        for name, value in drawn.items():
            setattr(task, name, value)


def _numbers(saved: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A copy. Raises ValueError for anything but an array of numbers of this shape."""
    if not isinstance(saved, np.ndarray) or saved.dtype.kind not in "fiu" or saved.shape != shape:
        raise ValueError("not a state of this model")
    return saved.copy()


def _arrays(data: Any) -> dict[str, Any]:
    """The engine's arrays whose size the model fixes; lists of contacts change with each step."""
    found = {name: getattr(data, name) for name in _names(type(data))}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size
    }


def _names(kind: type) -> list[str]:
    changing = ("_", "efc_", "iefc_", "ifrc", "contact")
    return [
        name
        for name in dir(kind)
        if not name.startswith(changing) and isinstance(getattr(kind, name), property)
    ]
