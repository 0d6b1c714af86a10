"""ActorCritic: a policy and a value over the same observations, for one kind of actions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from cleanrl_worker.agents.action_distributions import (
    ActionDistribution,
    CategoricalDistribution,
    GaussianDistribution,
)

_LOG_SQRT_2_PI = 0.5 * math.log(2.0 * math.pi)


class ActorCritic(nn.Module, ABC):
    """A policy's output is what its actions are drawn from: logits, or the means of normals."""

    @abstractmethod
    def policy(self, observations: Tensor) -> Tensor:
        """The policy's output, (rows, actions)."""

    @abstractmethod
    def value(self, observations: Tensor) -> Tensor:
        """The return to be expected, (rows,)."""

    def policy_and_value(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Both at once; agents with a common trunk run it once."""
        return self.policy(observations), self.value(observations)

    @abstractmethod
    def log_probability(self, output: Tensor, actions: Tensor) -> Tensor:
        """Of each row's action, (rows,)."""

    @abstractmethod
    def entropy(self, output: Tensor) -> Tensor:
        """Of each row's policy, (rows,)."""

    @abstractmethod
    def action_distribution(self) -> ActionDistribution:
        """Draws actions from the policy's output as it now is; a rollout is played with it."""

    @abstractmethod
    def choose(self, output: Tensor, deterministic: bool) -> Tensor:
        """One action per row: the likeliest, or one drawn with torch's generator."""

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play."""
        return self.choose(self.policy(observations), deterministic)

    @torch.no_grad()
    def act_and_value(self, observations: Tensor, deterministic: bool) -> tuple[Tensor, Tensor]:
        """The same actions, and the return to be expected, (rows,)."""
        output, values = self.policy_and_value(observations)
        return self.choose(output, deterministic), values


class DiscretePolicy:
    """Chooses one of n actions; the outputs are logits."""

    num_actions: int

    def log_probability(self, output: Tensor, actions: Tensor) -> Tensor:
        # A mask instead of `gather`, whose gradient on a GPU is neither fast nor deterministic.
        numbers = torch.arange(output.shape[1], device=output.device)
        chosen = actions.unsqueeze(1) == numbers
        return output.log_softmax(1).masked_fill(~chosen, 0.0).sum(1)

    def entropy(self, output: Tensor) -> Tensor:
        log_probabilities = output.log_softmax(1)
        return -(log_probabilities.exp() * log_probabilities).sum(1)

    def action_distribution(self) -> ActionDistribution:
        return CategoricalDistribution(self.num_actions)

    def choose(self, output: Tensor, deterministic: bool) -> Tensor:
        if deterministic:
            return output.argmax(1)
        return output.softmax(1).multinomial(1).squeeze(1)


class DiscreteActorCritic(DiscretePolicy, ActorCritic):
    """An actor-critic of discrete actions."""


class TrunkActorCritic(DiscreteActorCritic):
    """Actor and critic are heads upon the same features."""

    actor: nn.Module
    critic: nn.Module

    @abstractmethod
    def features(self, observations: Tensor) -> Tensor:
        """What both heads see, (rows, features)."""

    def policy(self, observations: Tensor) -> Tensor:
        output: Tensor = self.actor(self.features(observations))
        return output

    def value(self, observations: Tensor) -> Tensor:
        output: Tensor = self.critic(self.features(observations))
        return output.squeeze(1)

    def policy_and_value(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        features = self.features(observations)
        return self.actor(features), self.critic(features).squeeze(1)


class ContinuousActorCritic(ActorCritic):
    """Acts by real numbers; the outputs are means, the spread is a parameter of its own."""

    actor_logstd: nn.Parameter  # (1, actions)

    def log_probability(self, output: Tensor, actions: Tensor) -> Tensor:
        deviations = (actions - output) * (-self.actor_logstd).exp()
        return (-0.5 * deviations * deviations - self.actor_logstd - _LOG_SQRT_2_PI).sum(1)

    def entropy(self, output: Tensor) -> Tensor:
        one_row = (self.actor_logstd + (0.5 + _LOG_SQRT_2_PI)).sum()
        return one_row.expand(len(output))

    def action_distribution(self) -> ActionDistribution:
        return GaussianDistribution(self.actor_logstd.detach().cpu().numpy())

    def choose(self, output: Tensor, deterministic: bool) -> Tensor:
        if deterministic:
            return output
        return output + self.actor_logstd.exp() * torch.randn_like(output)
