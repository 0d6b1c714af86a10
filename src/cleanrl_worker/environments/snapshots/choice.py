"""Chooses how the state of an environment is kept."""

from __future__ import annotations

from typing import Any

from cleanrl_worker.environments.snapshots.atari import AtariSnapshots
from cleanrl_worker.environments.snapshots.box2d import Box2DSnapshots
from cleanrl_worker.environments.snapshots.mujoco import MujocoSnapshots
from cleanrl_worker.environments.snapshots.replay import ReplaySnapshots
from cleanrl_worker.environments.snapshots.snapshots import Snapshots

_DIRECT = {"gymnasium.envs.mujoco.": MujocoSnapshots, "ale_py.": AtariSnapshots}
_BOX2D = "gymnasium.envs.box2d."


def snapshots_of(env: Any) -> Snapshots:
    """Directly where the whole state can be read, by replaying the episode elsewhere.

    A wrapper we do not know may keep a state of its own, so that only a replay finds it.
    """
    core = env.unwrapped
    origin = type(core).__module__
    has_one_wrapper = getattr(env, "env", None) is core and hasattr(env, "snapshot_state")
    if has_one_wrapper:
        for prefix, kind in _DIRECT.items():
            if origin.startswith(prefix):
                return kind(env)
    return Box2DSnapshots(env) if origin.startswith(_BOX2D) else ReplaySnapshots(env)
