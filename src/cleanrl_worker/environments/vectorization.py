"""Decides how the environments of a training are stepped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanrl_worker.environments.families import (
    ATARI,
    DM_CONTROL,
    MUJOCO,
    base_name,
    family_of,
    without_module,
)
from mosaic.errors import ConfigError

NATIVE, LOOP, PROCESSES = "native", "loop", "processes"

# A copy of Gymnasium's physics in plain floats: the same trajectories, bit for bit, three to nine
# times as fast. Only for the versions and arguments whose physics they are.
_NATIVE = {
    "Acrobot-v1": "acrobot:AcrobotBatch",
    "CartPole-v0": "cart_pole:CartPoleBatch",
    "CartPole-v1": "cart_pole:CartPoleBatch",
    "MountainCar-v0": "mountain_car:MountainCarBatch",
    "MountainCarContinuous-v0": "mountain_car_continuous:MountainCarContinuousBatch",
    "Pendulum-v1": "pendulum:PendulumBatch",
}
