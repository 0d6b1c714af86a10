"""Pendulum: swing it up and hold it there with a weak motor; never terminates."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from cleanrl_worker.environments.batch import Array
from cleanrl_worker.environments.native.native_batch import NativeBatch, State, single

_STRONGEST = 2.0
_FASTEST = 8.0
_SECONDS = 0.05
_GRAVITY_PULL = 3 * 10.0 / 2
_EFFORT = single(0.001)
_HIGHEST_DRAW = np.array([pi, 1.0])


class PendulumBatch(NativeBatch):
    def _draw(self, random: np.random.Generator) -> State:
        return tuple(random.uniform(low=-_HIGHEST_DRAW, high=_HIGHEST_DRAW).tolist())

    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        states, returns = self._states, self._returns
        rewards = []
        for index, torque in enumerate(actions.astype(np.float32, copy=False)[:, 0].tolist()):
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


BATCH = PendulumBatch
