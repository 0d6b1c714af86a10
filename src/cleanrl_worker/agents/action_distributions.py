"""Drawing the actions of a rollout, and their log-probabilities, in numpy.

For the handful of rows that act together numpy is quicker than torch, and the randomness of a whole
rollout is drawn in one call.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Actions = NDArray[Any]  # int64 (rows,) or float32 (rows, size)

_LOG_SQRT_2_PI = 0.5 * math.log(2.0 * math.pi)
_TINY = np.finfo(np.float32).tiny


class ActionDistribution(Protocol):
    """What a policy's output means."""

    def draw_noise(self, rng: np.random.Generator, steps: int, rows: int) -> Array:
        """The randomness of a whole rollout at once: one call instead of one per step."""

    def sample(self, output: Array, noise: Array) -> Actions: ...

    def log_probabilities(self, output: Array, actions: Actions) -> Array:
        """Of each row's action, (rows,)."""


class CategoricalDistribution:
    """One of n actions; the output is logits. Works on (actions, rows): numpy is faster there."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.row_numbers = np.arange(0)
        self.chosen: Any = None  # where in a flat (actions, rows) array the actions are
        self.log_p: Any = None
        self.p: Any = None
        self.entropy: Any = None

    def draw_noise(self, rng: np.random.Generator, steps: int, rows: int) -> Array:
        noise = rng.standard_exponential((steps, rows, self.size), dtype=np.float32)
        np.maximum(noise, _TINY, out=noise)
        np.log(noise, out=noise)
        return noise

    def sample(self, output: Array, noise: Array) -> Actions:
        """Logits minus the logarithm of exponential noise: the largest is a fair draw (Gumbel)."""
        actions: NDArray[np.int64] = np.subtract(output, noise).argmax(1)
        return actions

    def log_probabilities(self, output: Array, actions: Actions) -> Array:
        rows = len(output)
        if len(self.row_numbers) != rows:
            self.row_numbers = np.arange(rows)
        self.chosen = actions * rows + self.row_numbers
        log_p = output.T.copy()
        log_p -= np.maximum.reduce(log_p)
        p = np.exp(log_p)
        total = np.add.reduce(p)
        p /= total
        log_p -= np.log(total)
        self.log_p, self.p, self.entropy = log_p, p, None
        result: Array = log_p.ravel().take(self.chosen)
        return result


class GaussianDistribution:
    """Independent normals; the output is their means, the logarithm of the spread a parameter."""

    def __init__(self, log_std: Array) -> None:
        self.log_std = log_std.reshape(-1)  # a view: what the optimiser changes is seen here
        self.halves = np.full(self.log_std.shape, -0.5, np.float32)
        self.log_volume = 0.0
        self.inverse_std: Any = None
        self.deviations: Any = None
        self.squares: Any = None

    def draw_noise(self, rng: np.random.Generator, steps: int, rows: int) -> Array:
        return rng.standard_normal((steps, rows, len(self.log_std)), dtype=np.float32)

    def sample(self, output: Array, noise: Array) -> Actions:
        actions: Array = np.exp(self.log_std)
        actions = noise * actions
        actions += output
        return actions

    def log_probabilities(self, output: Array, actions: Actions) -> Array:
        self.inverse_std = np.exp(-self.log_std)
        self.deviations = np.subtract(actions, output)
        self.deviations *= self.inverse_std
        self.squares = self.deviations * self.deviations
        result: Array = np.dot(self.squares, self.halves)
        self.log_volume = float(self.log_std.sum()) + len(self.log_std) * _LOG_SQRT_2_PI
        result -= np.float32(self.log_volume)
        return result
