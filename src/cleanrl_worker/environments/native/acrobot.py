"""Acrobot: two links hanging from a bar, driven at the elbow; swing the tip above the bar."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from cleanrl_worker.environments.batch import Array
from cleanrl_worker.environments.native.batch import NativeBatch, State

_SECONDS = 0.2
_GRAVITY = 9.8
_CENTRE = 0.5  # of mass, along either link; lengths, masses and moments of inertia are all 1
_FASTEST_SHOULDER = 4 * pi
_FASTEST_ELBOW = 9 * pi
_TORQUES = (-1.0, 0.0, 1.0)

Rates = tuple[float, float, float, float]


def _rates(
    shoulder: float, elbow: float, shoulder_speed: float, elbow_speed: float, torque: float
) -> Rates:
    """How fast angles and speeds change: the equations of motion of Sutton and Barto's book."""
    sine, cosine = sin(elbow), cos(elbow)
    inertia = _CENTRE**2 + (1.0 + _CENTRE**2 + 2 * _CENTRE * cosine) + 1.0 + 1.0
    coupling = (_CENTRE**2 + _CENTRE * cosine) + 1.0
    elbow_weight = _CENTRE * _GRAVITY * cos(shoulder + elbow - pi / 2.0)
    shoulder_weight = (
        -_CENTRE * elbow_speed**2 * sine
        - 2 * _CENTRE * elbow_speed * shoulder_speed * sine
        + (_CENTRE + 1.0) * _GRAVITY * cos(shoulder - pi / 2)
        + elbow_weight
    )
    elbow_pull = (
        torque
        + coupling / inertia * shoulder_weight
        - _CENTRE * shoulder_speed**2 * sine
        - elbow_weight
    ) / (_CENTRE**2 + 1.0 - coupling**2 / inertia)
    shoulder_pull = -(coupling * elbow_pull + shoulder_weight) / inertia
    return shoulder_speed, elbow_speed, shoulder_pull, elbow_pull


def _integrate(state: State, torque: float) -> State:
    """One step of the classical Runge-Kutta method."""
    s0, s1, s2, s3 = state
    half, sixth = _SECONDS / 2.0, _SECONDS / 6.0
    a0, a1, a2, a3 = _rates(s0, s1, s2, s3, torque)
    b0, b1, b2, b3 = _rates(s0 + half * a0, s1 + half * a1, s2 + half * a2, s3 + half * a3, torque)
    c0, c1, c2, c3 = _rates(s0 + half * b0, s1 + half * b1, s2 + half * b2, s3 + half * b3, torque)
    d0, d1, d2, d3 = _rates(
        s0 + _SECONDS * c0, s1 + _SECONDS * c1, s2 + _SECONDS * c2, s3 + _SECONDS * c3, torque
    )
    return (
        s0 + sixth * (a0 + 2 * b0 + 2 * c0 + d0),
        s1 + sixth * (a1 + 2 * b1 + 2 * c1 + d1),
        s2 + sixth * (a2 + 2 * b2 + 2 * c2 + d2),
        s3 + sixth * (a3 + 2 * b3 + 2 * c3 + d3),
    )


def _wrapped(angle: float) -> float:
    while angle > pi:
        angle -= 2 * pi
    while angle < -pi:
        angle += 2 * pi
    return angle


class AcrobotBatch(NativeBatch):
    def _draw(self, random: np.random.Generator) -> State:
        drawn = random.uniform(low=-0.1, high=0.1, size=(4,)).astype(np.float32)
        return tuple(drawn.tolist())

    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        states, returns = self._states, self._returns
        rewards = np.full(self.num_envs, -1.0, dtype=np.float32)
        terminated = []
        for index, action in enumerate(actions.tolist()):
            shoulder, elbow, shoulder_speed, elbow_speed = _integrate(
                states[index], _TORQUES[action]
            )
            shoulder, elbow = _wrapped(shoulder), _wrapped(elbow)
            states[index] = (
                shoulder,
                elbow,
                min(max(shoulder_speed, -_FASTEST_SHOULDER), _FASTEST_SHOULDER),
                min(max(elbow_speed, -_FASTEST_ELBOW), _FASTEST_ELBOW),
            )
            if -cos(shoulder) - cos(elbow + shoulder) > 1.0:
                terminated.append(index)
                rewards[index] = 0.0
            else:
                returns[index] -= 1.0
        return rewards, terminated

    def _observe(self) -> Array:
        return np.array(
            [
                (cos(shoulder), sin(shoulder), cos(elbow), sin(elbow), shoulder_speed, elbow_speed)
                for shoulder, elbow, shoulder_speed, elbow_speed in self._states
            ],
            dtype=np.float32,
        )

    def _first_observation(self, state: State) -> Array:
        shoulder, elbow, *speeds = np.array(state, dtype=np.float32)  # drawn in single precision
        return np.array(
            [np.cos(shoulder), np.sin(shoulder), np.cos(elbow), np.sin(elbow), *speeds],
            dtype=np.float32,
        )


BATCH = AcrobotBatch
