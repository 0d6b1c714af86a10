"""NormalizingBatch: observations and rewards brought to unit scale by running statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.environments.batch import Array, EnvBatch, Step

_EPSILON = 1e-8
_LIMIT = 10.0


class RunningStatistics:
    """Mean and variance of all values seen, each step adding a batch of them.

    As gymnasium's RunningMeanStd: it starts as if it had seen a ten-thousandth of a value with
    mean 0 and variance 1. Arithmetic is in place, because this lies on the path of every step.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean = np.zeros(shape)
        self.var = np.ones(shape)
        self.count = 1e-4
        self._delta = np.zeros(shape)
        self._work = np.zeros(shape)

    def update(self, batch: Array) -> None:
        size = len(batch)
        delta, work, var = self._delta, self._work, self.var
        var *= self.count
        if size == 1:
            np.subtract(batch[0], self.mean, out=delta)
        else:
            centre = np.add.reduce(batch, axis=0, dtype=np.float64) / size
            deviations = batch - centre
            deviations *= deviations
            var += np.add.reduce(deviations, axis=0)
            np.subtract(centre, self.mean, out=delta)
        total = self.count + size
        np.multiply(delta, delta, out=work)
        work *= self.count * size / total
        var += work
        var /= total
        delta *= size / total
        self.mean += delta
        self.count = total

    def state_dict(self) -> dict[str, Any]:
        return {"mean": self.mean.copy(), "var": self.var.copy(), "count": self.count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.mean[...] = state["mean"]
        self.var[...] = state["var"]
        self.count = float(state["count"])


class NormalizingBatch(EnvBatch):
    """Wraps a batch: what an algorithm sees is normalised and clipped to +-10.

    Rewards are divided by the deviation of the discounted return. Episodes stay raw, so that
    curves compare. Last observations of episodes are normalised but not counted.
    """

    def __init__(
        self, envs: EnvBatch, *, observations: bool, rewards: bool, gamma: float
    ) -> None:
        shape = envs.observation_space.shape or ()
        self.num_envs = envs.num_envs
        self.action_space = envs.action_space
        self.vectorization = envs.vectorization
        self.observation_space = envs.observation_space
        self._envs = envs
        self._gamma = gamma
        self._of_observations = RunningStatistics(shape) if observations else None
        self._of_returns = RunningReturns(envs.num_envs) if rewards else None
        if observations:
            self.observation_space = spaces.Box(-_LIMIT, _LIMIT, shape, np.float32)

    @property
    def exactness(self) -> str:  # type: ignore[override]
        return self._envs.exactness
