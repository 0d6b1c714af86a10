"""The policy of PPO's towers in numpy: it acts, and takes gradients back through its actions."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.accelerators.acting_networks import FrozenTower
from cleanrl_worker.accelerators.dense_network import Array, DenseNetwork
from cleanrl_worker.agents.action_distributions import (
    Actions,
    CategoricalDistribution,
    GaussianDistribution,
)
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.kit.optimizers import FlatParameters, weight_views

Towers = DiscreteTowers | ContinuousTowers


class CategoricalWithGradient(CategoricalDistribution):
    """`log_probabilities`, then `backward`, as with layers."""

    def row_entropies(self) -> Array:
        if self.entropy is None:
            self.entropy = -np.add.reduce(self.p * self.log_p)
        entropy: Array = self.entropy
        return entropy

    def mean_entropy(self) -> float:
        return float(self.row_entropies().mean())

    def backward(self, d_log_probabilities: Array, d_mean_entropy: float) -> Array:
        if d_mean_entropy:
            scale = np.float32(-d_mean_entropy / len(d_log_probabilities))
            d_output = self.log_p + self.row_entropies()
            d_output *= scale
            d_output -= d_log_probabilities
            d_output *= self.p
        else:
            d_output = self.p * -d_log_probabilities
        d_output.ravel()[self.chosen] += d_log_probabilities
        result: Array = d_output.T
        return result


class GaussianWithGradient(GaussianDistribution):
    """`log_probabilities`, then `backward`, as with layers."""

    def __init__(self, log_std: Array, d_log_std: Array) -> None:
        super().__init__(log_std)
        self.d_log_std = d_log_std.reshape(-1)

    def mean_entropy(self) -> float:
        return self.log_volume + 0.5 * len(self.log_std)

    def backward(self, d_log_probabilities: Array, d_mean_entropy: float) -> Array:
        np.dot(d_log_probabilities, self.squares, out=self.d_log_std)
        self.d_log_std += np.float32(d_mean_entropy - d_log_probabilities.sum())
        d_output: Array = self.deviations
        d_output *= self.inverse_std
        d_output *= d_log_probabilities[:, None]
        return d_output


class NumpyPolicy:
    """The towers of actor and critic in numpy.

    Shares its weights with the agent, whose parameters must be flat and on the CPU.
    """

    def __init__(self, agent: Towers) -> None:
        self.critic = DenseNetwork(agent.critic)
        self.distribution: CategoricalWithGradient | GaussianWithGradient
        if isinstance(agent, ContinuousTowers):
            self.actor = DenseNetwork(agent.actor_mean)
            self.distribution = GaussianWithGradient(*weight_views(agent.actor_logstd))
        else:
            self.actor = DenseNetwork(agent.actor)
            self.distribution = CategoricalWithGradient(agent.num_actions)
        self.acting = FrozenTower(self.actor)

    def start_rollout(self, num_envs: int) -> None:
        self.acting.freeze(num_envs)

    def act(self, observations: NDArray[Any], noise: Array) -> Actions:
        return self.distribution.sample(self.acting.forward(observations), noise)

    def evaluate(self, observations: NDArray[Any]) -> tuple[Array, Array]:
        return self.actor.forward(observations), self.values(observations)

    def values(self, observations: NDArray[Any]) -> Array:
        return self.critic.forward(observations).reshape(-1)


class MirroredPolicy(NumpyPolicy):
    """A copy on the CPU of towers that learn on a GPU: acting needs no launch and no waiting."""

    def __init__(self, agent: Towers, flat: FlatParameters) -> None:
        mirror = copy.deepcopy(agent).cpu()
        self.source = flat.values
        self.copied = FlatParameters(mirror).values
        super().__init__(mirror)

    def start_rollout(self, num_envs: int) -> None:
        self.copied.data.copy_(self.source.data)
        super().start_rollout(num_envs)
