"""MountainCarContinuous: the same hill with an engine of any strength, which costs its square.

Gymnasium keeps this state in single precision and rounds after every operation. So do we, or the
trajectories would drift apart.
"""

from __future__ import annotations

from math import cos
from struct import Struct

import numpy as np

from cleanrl_worker.environments.batch import Array
from cleanrl_worker.environments.native.native_batch import NativeBatch, State

_FLOAT = Struct("f")


def _single(value: float) -> float:
    """The nearest number in single precision."""
    (rounded,) = _FLOAT.unpack(_FLOAT.pack(value))
    return float(rounded)


_LEFT_END, _RIGHT_END = _single(-1.2), _single(0.6)
_GOAL = _single(0.45)
_FASTEST = _single(0.07)
_POWER = 0.0015
_GRAVITY = 0.0025
_PRIZE = 100.0
_EFFORT = 0.1


class MountainCarContinuousBatch(NativeBatch):
    def _draw(self, random: np.random.Generator) -> State:
        return (random.uniform(low=-0.6, high=-0.4), 0.0)

    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        efforts = np.clip(actions[:, 0].astype(np.float32, copy=False), -1.0, 1.0)
        pushes = (efforts * _POWER).tolist()
        states, began, clock = self._states, self._began, self._clock
        rewards = []
        terminated = []
        for index, effort in enumerate(efforts.tolist()):
            position, speed = states[index]
            slope = 3 * position
            if began[index] != clock:  # the drawn state is still in double precision
                slope = _single(slope)
            speed = _single(speed + _single(pushes[index] - _single(_GRAVITY * cos(slope))))
            speed = min(max(speed, -_FASTEST), _FASTEST)
            position = min(max(_single(position + speed), _LEFT_END), _RIGHT_END)
            if position == _LEFT_END and speed < 0:
                speed = 0.0
            states[index] = (position, speed)
            has_arrived = position >= _GOAL and speed >= 0
            if has_arrived:
                terminated.append(index)
            rewards.append((_PRIZE if has_arrived else 0.0) - effort * effort * _EFFORT)
        return np.array(rewards), terminated

    def _observe(self) -> Array:
        return np.array(self._states, dtype=np.float32)
