"""Agents for flat observations: separate towers as CleanRL's, or one trunk with two heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.actor_critic import (
    ContinuousActorCritic,
    DiscreteActorCritic,
    TrunkActorCritic,
)
from cleanrl_worker.agents.layers import layer_init, tanh_tower


class DiscreteTowers(DiscreteActorCritic):
    """Actor and critic share nothing. Parameter names as in CleanRL's `ppo.py`."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.num_actions = actions
        self.critic = tanh_tower(inputs, 1, output_std=1.0)
        self.actor = tanh_tower(inputs, actions, output_std=0.01)

    def policy(self, observations: Tensor) -> Tensor:
        output: Tensor = self.actor(observations.flatten(1).float())
        return output

    def value(self, observations: Tensor) -> Tensor:
        output: Tensor = self.critic(observations.flatten(1).float())
        return output.squeeze(1)


class ContinuousTowers(ContinuousActorCritic):
    """As DiscreteTowers for real actions. Names as in CleanRL's `ppo_continuous_action.py`."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.critic = tanh_tower(inputs, 1, output_std=1.0)
        self.actor_mean = tanh_tower(inputs, actions, output_std=0.01)
        self.actor_logstd = nn.Parameter(torch.zeros(1, actions))

    def policy(self, observations: Tensor) -> Tensor:
        output: Tensor = self.actor_mean(observations.flatten(1).float())
        return output

    def value(self, observations: Tensor) -> Tensor:
        output: Tensor = self.critic(observations.flatten(1).float())
        return output.squeeze(1)


class MLPAgent(TrunkActorCritic):
    """A trunk of 64-64 tanh units from which the heads of actor and critic branch."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.num_actions = actions
        self.network = nn.Sequential(
            layer_init(nn.Linear(inputs, 64)), nn.Tanh(), layer_init(nn.Linear(64, 64)), nn.Tanh()
        )
        self.actor = layer_init(nn.Linear(64, actions), std=0.01)
        self.critic = layer_init(nn.Linear(64, 1), std=1.0)

    def features(self, observations: Tensor) -> Tensor:
        features: Tensor = self.network(observations.flatten(1).float())
        return features
