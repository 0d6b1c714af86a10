"""SAC: a stochastic policy that seeks value and entropy, with twin critics (Haarnoja 2018)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.agents.action_critic import ActionCritic
from cleanrl_worker.agents.action_range import ActionRange
from cleanrl_worker.agents.soft_actor_critic import (
    LOG_STD_MIDDLE,
    LOG_STD_REACH,
    SoftActor,
    Temperature,
)
from cleanrl_worker.algorithms.actor_heads import actor_heads
from cleanrl_worker.algorithms.continuous_control import (
    ContinuousControlArguments,
    ContinuousLearner,
    train_by_replay,
)
from cleanrl_worker.analytic.continuous_squashed_gaussian import SquashedGaussian
from cleanrl_worker.analytic.continuous_towers import Towers
from cleanrl_worker.kit.flat_adam import FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.replay_buffer import Batch
from cleanrl_worker.kit.session import Session
from cleanrl_worker.kit.stateful import Stateful
from mosaic.worker import option


@dataclass(frozen=True)
class SACArguments(ContinuousControlArguments):
    learning_rate: float = option(
        0.0, help="policy_lr and q_lr at once; 0 leaves them as they are", minimum=0.0
    )
    policy_lr: float = option(3e-4, help="step size of the actor's optimiser", minimum=0.0)
    q_lr: float = option(1e-3, help="step size of the critics' and of alpha's", minimum=0.0)
    learning_starts: int = option(5_000, help="random steps before the first update", minimum=0)
    policy_frequency: int = option(
        2, help="updates of the critics between as many of the actor", minimum=1
    )
    target_network_frequency: int = option(
        1, help="updates of the critics to one of their targets", minimum=1
    )
    alpha: float = option(0.2, help="worth of entropy where autotune is off", minimum=0.0)
    autotune: bool = option(True, help="learn alpha, towards one nat less per action dimension")


ARGUMENTS = SACArguments


def train(arguments: SACArguments, session: Session) -> None:
    train_by_replay(arguments, session, SACLearner)


class SACLearner(ContinuousLearner):
    def __init__(
        self,
        arguments: SACArguments,
        observation_size: int,
        actions: ActionRange,
        device: torch.device,
    ) -> None:
        super().__init__(arguments, observation_size, actions, device)
        self.target_frequency = arguments.target_network_frequency
        self.autotune, self.target_entropy = arguments.autotune, -float(actions.size)
        self.actor = SoftActor(observation_size, actions).to(device)
        self.critics = [ActionCritic(observation_size, actions.size).to(device) for _ in range(2)]
        self.target_critics = copy.deepcopy(self.critics)
        self.temperature = Temperature().to(device)
        self._alpha = torch.full((1,), arguments.alpha, device=device)

        self._actor_weights = FlatParameters(self.actor)
        self._critic_weights = FlatParameters(*self.critics)
        self._target_weights = FlatParameters(*self.target_critics)
        self._log_alpha = FlatParameters(self.temperature)
        policy_rate = arguments.learning_rate or arguments.policy_lr
        critic_rate = arguments.learning_rate or arguments.q_lr
        self.actor_optimizer = FlatAdam(self._actor_weights, policy_rate)
        self.critic_optimizer = FlatAdam(self._critic_weights, critic_rate)
        self.alpha_optimizer = FlatAdam(self._log_alpha, critic_rate)

        size = self.batch_size
        self._policy = Towers(self._actor_weights, [self.actor], size)
        self._gaussian = SquashedGaussian(self.actor.action_scale, self.actor.action_bias)
        self._values = Towers(self._critic_weights, self.critics, size)
        self._target_values = Towers(
            self._target_weights, self.target_critics, size, within=self._values
        )
        # The critics once more, for the actor: the values they learnt from stay readable.
        self._climbed = Towers(self._critic_weights, self.critics, size, within=self._values)
        self._uphill = torch.zeros(2, size, 1, device=device)
        self._errors = torch.zeros(2, size, 1, device=device)
        self._actor_loss = torch.zeros(1, device=device)
        self._alpha_loss = torch.zeros(1, device=device)
        self._heads = actor_heads(self.actor, self._actor_weights, arguments.num_envs)

    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float32]:
        actions, log_std = self._heads(observations)
        np.tanh(log_std, out=log_std)
        log_std *= LOG_STD_REACH
        log_std += LOG_STD_MIDDLE
        deviation = np.exp(log_std, out=log_std)
        actions += deviation * rng.standard_normal(actions.shape, np.float32)
        return self.action_range.stretch(np.tanh(actions, out=actions))

    def update(self, batch: Batch, iteration: int) -> None:
        self.rows.fill(batch)
        self._critics_step()
        if iteration % self.policy_frequency == 0:
            for _ in range(self.policy_frequency):  # late, but as often as the critics
                self._actor_step()
        if iteration % self.target_frequency == 0:
            self._target_weights.values.data.lerp_(self._critic_weights.values.data, self.tau)

    def alpha(self) -> Tensor:
        if self.autotune:
            torch.exp(self._log_alpha.values.data, out=self._alpha)
        return self._alpha

    def update_critics(self) -> Tensor:
        """One step down the squared distance to the reward and the next state's soft value."""
        rows = self.rows
        mean, raw_log_std = self._policy.forward(rows.next_observations)
        actions, log_probability = self._gaussian.sample(mean[0], raw_log_std[0])
        rows.next_actions.copy_(actions)
        (next_values,) = self._target_values.forward(rows.next_inputs)
        soft_values = next_values.amin(0).sub_(log_probability.mul_(self.alpha()))
        targets = self.bootstrapped(soft_values)
        (values,) = self._values.forward(rows.inputs)
        torch.sub(values, targets, out=self._errors)
        self._values.backward(self._errors * (2.0 / self.batch_size))
        self.critic_optimizer.step()
        return values

    def update_actor(self) -> Tensor:
        """One step down alpha * log-probability - lowest value; then alpha follows the entropy."""
        rows, alpha = self.rows, self.alpha()
        mean, raw_log_std = self._policy.forward(rows.observations)
        actions, log_probability = self._gaussian.sample(mean[0], raw_log_std[0])
        # The critics have learnt from the stored actions: the policy's take their place.
        rows.actions.copy_(actions)
        (values,) = self._climbed.forward(rows.inputs)
        d_inputs = self._climbed.input_gradient(self._towards_lowest(values))
        d_actions = d_inputs[:, :, rows.observations.shape[1] :].sum(0)
        d_mean, d_raw = self._gaussian.backward(d_actions, alpha / self.batch_size)
        self._policy.backward(d_mean[None], d_raw[None])
        self.actor_optimizer.step()
        mean_log_probability = log_probability.mean()
        torch.mul(alpha, mean_log_probability, out=self._actor_loss).sub_(values.amin(0).mean())
        if self.autotune:
            torch.mul(-alpha, mean_log_probability.add_(self.target_entropy), out=self._alpha_loss)
            # The loss is alpha times a constant, so it is its own gradient by log(alpha).
            self._log_alpha.gradient.copy_(self._alpha_loss)
            self.alpha_optimizer.step()
        return values

    def _towards_lowest(self, values: Tensor) -> Tensor:
        """The gradient of the mean of the lower values, downwards."""
        first, second = self._uphill
        torch.le(values[0], values[1], out=first)
        torch.sub(1.0, first, out=second)
        return self._uphill.mul_(-1.0 / self.batch_size)

    def figures(self) -> dict[str, float]:
        (values,) = self._values.heads
        mean1, mean2 = values.output.mean((1, 2)).tolist()
        loss1, loss2 = self._errors.square().mean((1, 2)).tolist()
        figures = {
            "losses/qf1_values": mean1,
            "losses/qf2_values": mean2,
            "losses/qf1_loss": loss1,
            "losses/qf2_loss": loss2,
            "losses/qf_loss": (loss1 + loss2) / 2.0,
            "losses/actor_loss": self._actor_loss.item(),
            "losses/alpha": self.alpha().item(),
        }
        if self.autotune:
            figures["losses/alpha_loss"] = self._alpha_loss.item()
        return figures

    def model(self) -> ModelFile:
        return ModelFile(self.actor)

    def parts(self) -> Mapping[str, Stateful]:
        return {
            "qf1": self.critics[0],
            "qf2": self.critics[1],
            "qf1_target": self.target_critics[0],
            "qf2_target": self.target_critics[1],
            "temperature": self.temperature,
            "actor_optimizer": self.actor_optimizer,
            "q_optimizer": self.critic_optimizer,
            "alpha_optimizer": self.alpha_optimizer,
        }

    def changed_tensors(self) -> Sequence[Tensor]:
        return [
            *self.actor_optimizer.tensors(),
            *self.critic_optimizer.tensors(),
            *self.alpha_optimizer.tensors(),
            self._target_weights.values.data,
        ]


if __name__ == "__main__":
    from cleanrl_worker.kit.standalone import run_alone

    run_alone("sac_continuous_action")
