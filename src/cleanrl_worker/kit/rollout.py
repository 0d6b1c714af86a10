"""Rollout: the transitions of some steps of all environments, in arrays made once.

Beside it, what every algorithm that learns from rollouts computes of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.environments.batch import EnvBatch, Step

Array = NDArray[Any]


class Rollout:
    """Filled step by step; the first `steps` rows of the arrays are valid."""

    def __init__(self, num_steps: int, envs: EnvBatch) -> None:
        shape = (num_steps, envs.num_envs)
        observation = envs.observation_space
        is_image = observation.dtype == np.uint8
        # One step more: the successors of the last one.
        self.observations: Array = np.zeros(
            (num_steps + 1, envs.num_envs, *(observation.shape or ())),
            np.uint8 if is_image else np.float32,
        )
        is_continuous = bool(envs.action_space.shape)
        self.actions: Array = (
            np.zeros((*shape, math.prod(envs.action_space.shape or ())), np.float32)
            if is_continuous
            else np.zeros(shape, np.int64)
        )
        self.rewards = np.zeros(shape, np.float32)
        self.terminated = np.zeros(shape, np.bool_)
        self.ended = np.zeros(shape, np.bool_)
        self.steps = 0
        self.cut_off: list[tuple[int, int, Array]] = []  # step, env, final observation

    def start(self, observations: Array) -> None:
        """Forget everything; these are the observations of the first step."""
        self.steps = 0
        self.terminated.fill(False)
        self.ended.fill(False)
        self.cut_off.clear()
        self.observations[0] = observations

    def add(self, actions: Array, step: Step) -> None:
        """What the actions upon `observations[steps]` led to."""
        index = self.steps
        self.actions[index] = actions
        self.rewards[index] = step.rewards
        self.observations[index + 1] = step.observations
        if step.finals:
            self.terminated[index] = step.terminated
            for env, final in step.finals.items():
                self.ended[index, env] = True
                if not step.terminated[env]:
                    self.cut_off.append((index, env, final))
        self.steps = index + 1

    def observations_at(self, index: int) -> Any:
        """What a policy acts upon at this step."""
        return self.observations[index]

    def all_observations(self) -> Any:
        """The observations of all steps as rows, the last successors behind them."""
        rows = self.observations[: self.steps + 1]
        return rows.reshape(-1, *rows.shape[2:])

    def as_rows(self, observations: Sequence[Array]) -> Array:
        """Single observations as rows like those stored here."""
        return np.stack(observations).astype(self.observations.dtype, copy=False)


class RolloutBatch(NamedTuple):
    """A finished rollout as rows, ready to learn from."""

    observations: Any  # an array, or a tensor where they are on a GPU already
    actions: Array
    log_probabilities: NDArray[np.float32]
    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    values: NDArray[np.float32]


class TensorBatch(NamedTuple):
    """RolloutBatch in torch."""

    observations: Tensor
    actions: Tensor
    log_probabilities: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


def backward_sums(terms: NDArray[np.float32], decays: NDArray[np.float32]) -> NDArray[np.float32]:
    """sums[t] = terms[t] + decays[t] * sums[t + 1] along the first axis.

    Doubling spans instead of a loop over time: after each round a sum reaches twice as far.
    """
    sums, factors = terms.copy(), decays.copy()
    reach = 1
    while reach < len(terms):
        sums[:-reach] += factors[:-reach] * sums[reach:]
        factors[:-reach] *= factors[reach:]
        reach *= 2
    return sums


def explained_variance(values: NDArray[np.float32], returns: NDArray[np.float32]) -> float:
    """1 when the values foresee the returns, 0 when they say nothing; 0 when all returns agree."""
    spread = float(returns.var())
    return 0.0 if spread == 0.0 else 1.0 - float((returns - values).var()) / spread


def minibatch_bounds(rows: int, num_minibatches: int, full_rows: int) -> list[int]:
    """Where the minibatches of a batch start and end: as even as can be.

    A batch shorter than the full one keeps the size of the minibatches rather than their number.
    """
    usual_size = max(1, full_rows // num_minibatches)
    count = min(num_minibatches, max(1, rows // usual_size))
    return [rows * index // count for index in range(count + 1)]
