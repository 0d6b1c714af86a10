"""MountainCarContinuous: the same hill with an engine of any strength, which costs its square.

Gymnasium keeps this state in single precision and rounds after every operation. So do we, or the
trajectories would drift apart.
"""

from __future__ import annotations

from math import cos

import numpy as np

from cleanrl_worker.environments.batch import Array
from cleanrl_worker.environments.native.batch import NativeBatch, State, single

_LEFT_END, _RIGHT_END = single(-1.2), single(0.6)
_GOAL = single(0.45)
_FASTEST = single(0.07)
_POWER = single(0.0015)
_GRAVITY = 0.0025
_PRIZE = 100.0
_EFFORT = 0.1


class MountainCarContinuousBatch(NativeBatch):
    def _draw(self, random: np.random.Generator) -> State:
        return (random.uniform(low=-0.6, high=-0.4), 0.0)

    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        states, began, clock, returns = self._states, self._began, self._clock, self._returns
        rewards = []
        terminated = []
        for index, effort in enumerate(actions.astype(np.float32, copy=False)[:, 0].tolist()):
            effort = min(max(effort, -1.0), 1.0)
            position, speed = states[index]
            slope = 3 * position
            if began[index] != clock:  # the drawn state is still in double precision
                slope = single(slope)
            pull = single(_GRAVITY * cos(slope))
            speed = single(speed + single(single(effort * _POWER) - pull))
            speed = min(max(speed, -_FASTEST), _FASTEST)
            position = min(max(single(position + speed), _LEFT_END), _RIGHT_END)
            if position == _LEFT_END and speed < 0:
                speed = 0.0
            states[index] = (position, speed)
            has_arrived = position >= _GOAL and speed >= 0
            if has_arrived:
                terminated.append(index)
            reward = (_PRIZE if has_arrived else 0.0) - effort * effort * _EFFORT
            rewards.append(reward)
            returns[index] += reward
        return np.array(rewards, dtype=np.float32), terminated

    def _observe(self) -> Array:
        return np.array(self._states, dtype=np.float32)


BATCH = MountainCarContinuousBatch
