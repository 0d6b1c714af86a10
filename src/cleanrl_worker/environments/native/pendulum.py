"""Pendulum: swing it up and hold it there with a weak motor; never terminates."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

import numpy as np

from cleanrl_worker.environments.batch import Array
from cleanrl_worker.environments.native.batch import NativeBatch, State, single

_STRONGEST = 2.0
_FASTEST = 8.0
_SECONDS = 0.05
_GRAVITY_PULL = 3 * 10.0 / 2
_EFFORT = single(0.001)
_HIGHEST_DRAW = np.array([pi, 1.0])


class PendulumBatch(NativeBatch):
    _torques: Sequence[float] = ()  # as they were asked for in the last step

    def _draw(self, random: np.random.Generator) -> State:
        return tuple(random.uniform(low=-_HIGHEST_DRAW, high=_HIGHEST_DRAW).tolist())

    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        states, returns = self._states, self._returns
        rewards = []
        self._torques = actions.astype(np.float32, copy=False)[:, 0].tolist()
        for index, torque in enumerate(self._torques):
            angle, speed = states[index]
            torque = min(max(torque, -_STRONGEST), _STRONGEST)
            wrapped = ((angle + pi) % (2 * pi)) - pi
            # What involves the action alone is in single precision.
            effort = single(_EFFORT * single(torque * torque))
            reward = -(wrapped**2 + 0.1 * speed**2 + effort)
            rewards.append(reward)
            returns[index] += reward
            speed += (_GRAVITY_PULL * sin(angle) + single(3.0 * torque)) * _SECONDS
            speed = min(max(speed, -_FASTEST), _FASTEST)
            states[index] = (angle + speed * _SECONDS, speed)
        return np.array(rewards, dtype=np.float32), []

    def _observe(self) -> Array:
        return np.array(
            [(cos(angle), sin(angle), speed) for angle, speed in self._states], dtype=np.float32
        )

    def _first_observation(self, state: State) -> Array:
        angle, speed = state
        return np.array((cos(angle), sin(angle), speed), dtype=np.float32)

    def _pose(self, painter: Any, index: int) -> None:
        super()._pose(painter, index)
        painter.last_u = None  # it is drawn as an arrow, but not before the first step
        if self._torques and self._began[index] != self._clock:
            torque = min(max(self._torques[index], -_STRONGEST), _STRONGEST)
            painter.last_u = np.float32(torque)


BATCH = PendulumBatch
