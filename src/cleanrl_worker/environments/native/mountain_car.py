"""MountainCar: an engine too weak for the hill, pushing left, not at all or right."""

from __future__ import annotations

from math import cos

import numpy as np

from cleanrl_worker.environments.batch import Array
from cleanrl_worker.environments.native.batch import NativeBatch, State

_LEFT_END, _RIGHT_END = -1.2, 0.6
_GOAL = 0.5
_FASTEST = 0.07
_FORCE = 0.001
_GRAVITY = 0.0025


class MountainCarBatch(NativeBatch):
    def __init__(self, env_id: str, num_envs: int) -> None:
        super().__init__(env_id, num_envs)
        self._penalties = np.full(num_envs, -1.0, dtype=np.float32)

    def _draw(self, random: np.random.Generator) -> State:
        return (random.uniform(low=-0.6, high=-0.4), 0.0)

    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        states, returns = self._states, self._returns
        terminated = []
        for index, action in enumerate(actions.tolist()):
            position, speed = states[index]
            speed += (action - 1) * _FORCE + cos(3 * position) * (-_GRAVITY)
            speed = min(max(speed, -_FASTEST), _FASTEST)
            position = min(max(position + speed, _LEFT_END), _RIGHT_END)
            if position == _LEFT_END and speed < 0:
                speed = 0.0
            states[index] = (position, speed)
            returns[index] -= 1.0
            if position >= _GOAL and speed >= 0:
                terminated.append(index)
        return self._penalties.copy(), terminated

    def _observe(self) -> Array:
        return np.array(self._states, dtype=np.float32)


BATCH = MountainCarBatch
