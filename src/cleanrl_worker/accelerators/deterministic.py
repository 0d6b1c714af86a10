"""DDPG's and TD3's updates on Towers; their files in `algorithms/` state the same losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

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
from cleanrl_worker.agents.continuous_control import ActionCritic, ActionRange, DeterministicActor
from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters
from cleanrl_worker.kit.replay_buffers import Batch
from cleanrl_worker.kit.session import Session


class DeterministicNetworks(NamedTuple):
    """What a learner is made of, whoever computes its updates."""

    actor: DeterministicActor
    critics: list[ActionCritic]
    target_actor: DeterministicActor
    target_critics: list[ActionCritic]
    target_actor_weights: FlatParameters
    target_critic_weights: FlatParameters
    actor_optimizer: FlatAdam
    critic_optimizer: FlatAdam


class Smoothing(NamedTuple):
    """TD3's noise on the actions of the target policy."""

    policy_noise: float
    noise_clip: float


class DeterministicHyperparameters(ReplayHyperparameters, Protocol):
    @property
    def exploration_noise(self) -> float: ...


def accelerated_deterministic(
    networks: DeterministicNetworks,
    action_range: ActionRange,
    arguments: DeterministicHyperparameters,
    session: Session,
    smoothing: Smoothing | None = None,
) -> ReplayLearner | None:
    """On any device; on a GPU with graphs, where `compile` asks for them."""
    if not arguments.accelerate:
        return None
    learner = DeterministicTowers(networks, action_range, arguments, smoothing)
    record_graphs_if_wanted(learner.record_graphs, session)
    return learner


class DeterministicTowers(TowersLearner):
    """For any number of critics; the lowest of their opinions counts."""

    def __init__(
        self,
        networks: DeterministicNetworks,
        action_range: ActionRange,
        arguments: DeterministicHyperparameters,
        smoothing: Smoothing | None = None,
    ) -> None:
        observation_size = networks.actor.fc1.in_features
        device = networks.actor.fc1.weight.device
        super().__init__(arguments, observation_size, action_range, device)
        self.networks = networks
        self._exploration_deviation = action_range.scale * np.float32(arguments.exploration_noise)
        self._smoothing = smoothing
        self._low = torch.from_numpy(action_range.low).to(device)
        self._high = torch.from_numpy(action_range.high).to(device)

        size = self.batch_size
        actor_weights, critic_weights = (
            networks.actor_optimizer.flat,
            networks.critic_optimizer.flat,
        )
        self._policy = Towers(actor_weights, [networks.actor], size)
        self._target_policy = Towers(
            networks.target_actor_weights, [networks.target_actor], size, within=self._policy
        )
        self._values = Towers(critic_weights, networks.critics, size)
        self._target_values = Towers(
            networks.target_critic_weights, networks.target_critics, size, within=self._values
        )
        # The actor climbs the first critic alone.
        self._climbed = Towers(critic_weights, networks.critics[:1], size, within=self._values)
        self._uphill = torch.full((1, size, 1), -1.0 / size, device=device)
        self._errors = torch.zeros(len(networks.critics), size, 1, device=device)
        self.heads = actor_heads(networks.actor, actor_weights, arguments.num_envs)

    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> Array:
        (actions,) = self.heads(observations)
        self.action_range.stretch(np.tanh(actions, out=actions))
        actions += rng.standard_normal(actions.shape, np.float32) * self._exploration_deviation
        return actions.clip(self.action_range.low, self.action_range.high, out=actions)

    def update(self, batch: Batch, iteration: int) -> None:
        self.rows.fill(batch)
        self._critics_step()
        if iteration % self.policy_frequency == 0:
            self._actor_step()

    def update_critics(self) -> Tensor:
        """One step down the squared distance to the reward and the target critics' lowest value."""
        rows = self.rows
        rows.next_actions.copy_(self.next_actions())
        (next_values,) = self._target_values.forward(rows.next_inputs)
        targets = self.bootstrapped(next_values.amin(0))
        (values,) = self._values.forward(rows.inputs)
        torch.sub(values, targets, out=self._errors)
        self._values.backward(self._errors * (2.0 / self.batch_size))
        self.networks.critic_optimizer.step()
        return values

    def next_actions(self) -> Tensor:
        """What the target policy would do next."""
        (raw,) = self._target_policy.forward(self.rows.next_observations)
        actions = self._stretched(raw[0].tanh_())
        if self._smoothing is None:
            return actions
        noise = torch.randn_like(actions).mul_(self._smoothing.policy_noise)
        noise.clamp_(-self._smoothing.noise_clip, self._smoothing.noise_clip)
        actions.addcmul_(noise, self.networks.actor.action_scale)
        return actions.clamp_(self._low, self._high)

    def update_actor(self) -> Tensor:
        """One step up the first critic's value of the policy's actions; then the targets follow."""
        rows, networks = self.rows, self.networks
        (raw,) = self._policy.forward(rows.observations)
        squashed = raw[0].tanh_()
        # The critics have learnt from the stored actions: the policy's take their place.
        rows.actions.copy_(self._stretched(squashed))
        (values,) = self._climbed.forward(rows.inputs)
        d_inputs = self._climbed.input_gradient(self._uphill)
        d_actions = d_inputs[0, :, rows.observations.shape[1] :]
        d_raw = (1.0 - squashed * squashed).mul_(d_actions).mul_(self.networks.actor.action_scale)
        self._policy.backward(d_raw[None])
        networks.actor_optimizer.step()
        networks.target_actor_weights.move_towards(networks.actor_optimizer.flat, self.tau)
        networks.target_critic_weights.move_towards(networks.critic_optimizer.flat, self.tau)
        return values

    def _stretched(self, squashed: Tensor) -> Tensor:
        return torch.addcmul(
            self.networks.actor.action_bias, squashed, self.networks.actor.action_scale
        )

    def metrics(self) -> dict[str, float]:
        (values,) = self._values.heads
        means = values.output.mean((1, 2)).tolist()
        losses = self._errors.square().mean((1, 2)).tolist()
        (climbed,) = self._climbed.heads
        metrics = {f"losses/qf{index}_values": mean for index, mean in enumerate(means, 1)}
        metrics |= {f"losses/qf{index}_loss": loss for index, loss in enumerate(losses, 1)}
        if len(losses) > 1:
            metrics["losses/qf_loss"] = sum(losses) / len(losses)
        metrics["losses/actor_loss"] = -climbed.output.mean().item()
        return metrics

    def changed_tensors(self) -> Sequence[Tensor]:
        return [
            *self.networks.actor_optimizer.tensors(),
            *self.networks.critic_optimizer.tensors(),
            self.networks.target_actor_weights.values.data,
            self.networks.target_critic_weights.values.data,
        ]
