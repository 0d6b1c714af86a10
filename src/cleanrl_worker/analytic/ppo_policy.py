"""DensePolicy: the towers of actor and critic in numpy, for acting and for judging a rollout."""

from __future__ import annotations

import copy
from typing import Any

from numpy.typing import NDArray

from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.analytic.dense_network import Array, DenseNetwork
from cleanrl_worker.analytic.frozen_tower import FrozenTower
from cleanrl_worker.analytic.ppo_distributions import (
    ActionDistribution,
    Actions,
    CategoricalDistribution,
    GaussianDistribution,
)
from cleanrl_worker.kit.flat_parameters import FlatParameters, weight_views

Towers = DiscreteTowers | ContinuousTowers


class DensePolicy:
    """Shares its weights with the agent, whose parameters must be flat and on the CPU."""

    def __init__(self, agent: Towers) -> None:
        self.critic = DenseNetwork(agent.critic)
        self.distribution: ActionDistribution
        if isinstance(agent, ContinuousTowers):
            self.actor = DenseNetwork(agent.actor_mean)
            self.distribution = GaussianDistribution(*weight_views(agent.actor_logstd))
        else:
            self.actor = DenseNetwork(agent.actor)
            self.distribution = CategoricalDistribution(agent.num_actions)

        self.acting = FrozenTower(self.actor)

    def start_rollout(self, rows: int) -> None:
        self.acting.freeze(rows)

    def act(self, observations: NDArray[Any], noise: Array) -> Actions:
        return self.distribution.sample(self.acting.forward(observations), noise)

    def judge(self, observations: NDArray[Any]) -> tuple[Array, Array]:
        """Outputs of the policy and values, for many rows at once."""
        return self.actor.forward(observations), self.values(observations)

    def values(self, observations: NDArray[Any]) -> Array:
        return self.critic.forward(observations).reshape(-1)


class MirroredPolicy(DensePolicy):
    """A copy on the CPU of towers that learn on a GPU: acting needs no launch and no waiting."""

    def __init__(self, agent: Towers, flat: FlatParameters) -> None:
        mirror = copy.deepcopy(agent).cpu()
        self.source = flat.values
        self.copied = FlatParameters(mirror).values
        super().__init__(mirror)

    def start_rollout(self, rows: int) -> None:
        self.copied.data.copy_(self.source.data)
        super().start_rollout(rows)
