"""CartPole: a pole on a cart, pushed left or right; one point for every step it stands."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from cleanrl_worker.environments.batch import Array
from cleanrl_worker.environments.native.batch import NativeBatch, State

_GRAVITY = 9.8
_POLE_MASS = 0.1
_TOTAL_MASS = _POLE_MASS + 1.0
_HALF_LENGTH = 0.5
_POLE_MOMENT = _POLE_MASS * _HALF_LENGTH
_FORCE = 10.0
_SECONDS = 0.02
_FURTHEST = 2.4
_STEEPEST = 12 * 2 * pi / 360


class CartPoleBatch(NativeBatch):
    def __init__(self, env_id: str, num_envs: int) -> None:
        super().__init__(env_id, num_envs)
        self._ones = np.ones(num_envs, dtype=np.float32)

    def _draw(self, random: np.random.Generator) -> State:
        return tuple(random.uniform(low=-0.05, high=0.05, size=(4,)).tolist())

    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        states, returns = self._states, self._returns
        terminated = []
        for index, action in enumerate(actions.tolist()):
            x, x_speed, angle, angle_speed = states[index]
            sine, cosine = sin(angle), cos(angle)
            force = _FORCE if action == 1 else -_FORCE
            thrust = (force + _POLE_MOMENT * (angle_speed * angle_speed) * sine) / _TOTAL_MASS
            angle_pull = (_GRAVITY * sine - cosine * thrust) / (
                _HALF_LENGTH * (4.0 / 3.0 - _POLE_MASS * (cosine * cosine) / _TOTAL_MASS)
            )
            x_pull = thrust - _POLE_MOMENT * angle_pull * cosine / _TOTAL_MASS
            x += _SECONDS * x_speed
            angle += _SECONDS * angle_speed
            states[index] = (
                x,
                x_speed + _SECONDS * x_pull,
                angle,
                angle_speed + _SECONDS * angle_pull,
            )
            returns[index] += 1.0
            if not (-_FURTHEST <= x <= _FURTHEST and -_STEEPEST <= angle <= _STEEPEST):
                terminated.append(index)
        return self._ones.copy(), terminated

    def _observe(self) -> Array:
        return np.array(self._states, dtype=np.float32)


BATCH = CartPoleBatch
