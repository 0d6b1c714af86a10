"""SAC's update on Towers; `algorithms/sac.py` states the same losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.accelerators.cuda_graphs import record_graphs_if_wanted
from cleanrl_worker.accelerators.learners import ReplayLearner
from cleanrl_worker.accelerators.replay_learner import (
    Array,
    ReplayHyperparameters,
    TowersLearner,
    actor_heads,
)
from cleanrl_worker.accelerators.towers import Towers
from cleanrl_worker.agents.continuous_control import (
    LOG_STD_MIDDLE,
    LOG_STD_REACH,
    ActionCritic,
    ActionRange,
    SoftActor,
)
from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters
from cleanrl_worker.kit.replay_buffers import Batch
from cleanrl_worker.kit.session import Session

_LOG_SQRT_TAU = math.log(math.sqrt(2.0 * math.pi))
_EPSILON = 1e-6  # keeps the logarithm finite at the bounds


class PlainSAC(ReplayLearner, Protocol):
    """What is accelerated: the learner in `algorithms/sac.py`."""

    actor: SoftActor
    critics: list[ActionCritic]
    target_critics: list[ActionCritic]
    target_critic_weights: FlatParameters
    actor_optimizer: FlatAdam
    critic_optimizer: FlatAdam
    alpha_optimizer: FlatAdam
    target_entropy: float


class SACHyperparameters(ReplayHyperparameters, Protocol):
    @property
    def alpha(self) -> float: ...
    @property
    def autotune(self) -> bool: ...
    @property
    def target_network_frequency(self) -> int: ...


def accelerated_sac(
    plain: PlainSAC, action_range: ActionRange, arguments: SACHyperparameters, session: Session
) -> ReplayLearner | None:
    """On any device; on a GPU with graphs, where `compile` asks for them."""
    if not arguments.accelerate:
        return None
    learner = SACTowers(plain, action_range, arguments)
    record_graphs_if_wanted(learner.record_graphs, session)
    return learner


class SACTowers(TowersLearner):
    def __init__(
        self, plain: PlainSAC, action_range: ActionRange, arguments: SACHyperparameters
    ) -> None:
        actor = plain.actor
        device = actor.fc1.weight.device
        super().__init__(arguments, actor.fc1.in_features, action_range, device)
        self._plain = plain
        self._target_frequency = arguments.target_network_frequency
        self._autotune = arguments.autotune
        self._alpha = torch.full((1,), arguments.alpha, device=device)

        size = self.batch_size
        actor_weights, critic_weights = plain.actor_optimizer.flat, plain.critic_optimizer.flat
        self._policy = Towers(actor_weights, [actor], size)
        self._gaussian = SquashedGaussian(actor.action_scale, actor.action_bias)
        self._values = Towers(critic_weights, plain.critics, size)
        self._target_values = Towers(
            plain.target_critic_weights, plain.target_critics, size, within=self._values
        )
        # The critics once more, for the actor: the values they learnt from stay readable.
        self._climbed = Towers(critic_weights, plain.critics, size, within=self._values)
        self._uphill = torch.zeros(2, size, 1, device=device)
        self._errors = torch.zeros(2, size, 1, device=device)
        self._actor_loss = torch.zeros(1, device=device)
        self._alpha_loss = torch.zeros(1, device=device)
        self.heads = actor_heads(actor, actor_weights, arguments.num_envs)

    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> Array:
        actions, log_std = self.heads(observations)
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
        if iteration % self._target_frequency == 0:
            self._plain.target_critic_weights.move_towards(
                self._plain.critic_optimizer.flat, self.tau
            )

    def alpha(self) -> Tensor:
        if self._autotune:
            torch.exp(self._plain.alpha_optimizer.values, out=self._alpha)
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
        self._plain.critic_optimizer.step()
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
        self._plain.actor_optimizer.step()
        mean_log_probability = log_probability.mean()
        torch.mul(alpha, mean_log_probability, out=self._actor_loss).sub_(values.amin(0).mean())
        if self._autotune:
            torch.mul(
                -alpha, mean_log_probability.add_(self._plain.target_entropy), out=self._alpha_loss
            )
            # The loss is alpha times a constant, so it is its own gradient by log(alpha).
            self._plain.alpha_optimizer.gradient.copy_(self._alpha_loss)
            self._plain.alpha_optimizer.step()
        return values

    def _towards_lowest(self, values: Tensor) -> Tensor:
        """The gradient of the mean of the lower values, downwards."""
        first, second = self._uphill
        torch.le(values[0], values[1], out=first)
        torch.sub(1.0, first, out=second)
        return self._uphill.mul_(-1.0 / self.batch_size)

    def metrics(self) -> dict[str, float]:
        (values,) = self._values.heads
        mean1, mean2 = values.output.mean((1, 2)).tolist()
        loss1, loss2 = self._errors.square().mean((1, 2)).tolist()
        metrics = {
            "losses/qf1_values": mean1,
            "losses/qf2_values": mean2,
            "losses/qf1_loss": loss1,
            "losses/qf2_loss": loss2,
            "losses/qf_loss": (loss1 + loss2) / 2.0,
            "losses/actor_loss": self._actor_loss.item(),
            "losses/alpha": self.alpha().item(),
        }
        if self._autotune:
            metrics["losses/alpha_loss"] = self._alpha_loss.item()
        return metrics

    def changed_tensors(self) -> Sequence[Tensor]:
        return [
            *self._plain.actor_optimizer.tensors(),
            *self._plain.critic_optimizer.tensors(),
            *self._plain.alpha_optimizer.tensors(),
            self._plain.target_critic_weights.values.data,
        ]


class SquashedGaussian:
    """SAC's policy: sampled actions, their log-probability and its gradient.

    action = scale * tanh(mean + deviation * noise) + bias.

    `mean` and `raw_log_std` are what the actor's heads give, (batch, size) both.
    """

    def __init__(self, scale: Tensor, bias: Tensor) -> None:
        self._scale, self._bias = scale, bias

    def sample(self, mean: Tensor, raw_log_std: Tensor) -> tuple[Tensor, Tensor]:
        """Actions (batch, size) and their log-probabilities (batch, 1)."""
        self._bend = torch.tanh(raw_log_std)
        log_std = self._bend * LOG_STD_REACH + LOG_STD_MIDDLE
        noise = torch.randn_like(mean)
        self._spread = log_std.exp().mul_(noise)
        self._squashed = torch.add(mean, self._spread).tanh_()
        self._slope = 1.0 - self._squashed * self._squashed
        self._stretch = (self._slope * self._scale).add_(_EPSILON)
        log_probability = noise.mul_(noise).mul_(-0.5).sub_(log_std).sub_(_LOG_SQRT_TAU)
        log_probability -= self._stretch.log()
        actions = self._squashed * self._scale + self._bias
        return actions, log_probability.sum(1, keepdim=True)

    def backward(self, d_actions: Tensor, d_log_probability: Tensor) -> tuple[Tensor, Tensor]:
        """From the gradients of the last sample to those of `mean` and `raw_log_std`.

        The noise stays what it was, so the density's exponent does not change; what changes are the
        deviation's own logarithm and the logarithm of the slope where the sample lands.
        """
        d_squashed = 2.0 * self._squashed / self._stretch
        d_squashed.mul_(d_log_probability).add_(d_actions).mul_(self._scale)
        d_mean = d_squashed.mul_(self._slope)
        d_log_std = (d_mean * self._spread).sub_(d_log_probability)
        bend_slope = (1.0 - self._bend * self._bend).mul_(LOG_STD_REACH)
        return d_mean, d_log_std.mul_(bend_slope)
