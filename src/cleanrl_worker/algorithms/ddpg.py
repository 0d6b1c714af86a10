"""DDPG: a deterministic policy that climbs its critic's values, from replay (Lillicrap 2016)."""

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
from cleanrl_worker.agents.deterministic import DeterministicActor
from cleanrl_worker.algorithms.actor_heads import actor_heads
from cleanrl_worker.algorithms.continuous_control import (
    ContinuousControlArguments,
    ContinuousLearner,
    train_by_replay,
)
from cleanrl_worker.analytic.continuous_towers import Towers
from cleanrl_worker.kit.flat_adam import FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.replay_buffer import Batch
from cleanrl_worker.kit.session import Session
from cleanrl_worker.kit.stateful import Stateful
from mosaic.worker import option


@dataclass(frozen=True)
class DDPGArguments(ContinuousControlArguments):
    exploration_noise: float = option(
        0.1, help="deviation of the noise on actions, as part of half their range", minimum=0.0
    )


ARGUMENTS = DDPGArguments


def train(arguments: DDPGArguments, session: Session) -> None:
    train_by_replay(arguments, session, DDPGLearner)


class DDPGLearner(ContinuousLearner):
    """Written for any number of critics; the lowest of their opinions counts."""

    def __init__(
        self,
        arguments: DDPGArguments,
        observation_size: int,
        actions: ActionRange,
        device: torch.device,
        num_critics: int = 1,
    ) -> None:
        super().__init__(arguments, observation_size, actions, device)
        self.exploration_deviation = actions.scale * np.float32(arguments.exploration_noise)
        self.actor = self.make_actor(observation_size).to(device)
        self.critics = [
            ActionCritic(observation_size, actions.size).to(device) for _ in range(num_critics)
        ]
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critics = copy.deepcopy(self.critics)

        self._actor_weights = FlatParameters(self.actor)
        self._critic_weights = FlatParameters(*self.critics)
        self._target_actor_weights = FlatParameters(self.target_actor)
        self._target_critic_weights = FlatParameters(*self.target_critics)
        self.actor_optimizer = FlatAdam(self._actor_weights, arguments.learning_rate)
        self.critic_optimizer = FlatAdam(self._critic_weights, arguments.learning_rate)

        size = self.batch_size
        self._policy = Towers(self._actor_weights, [self.actor], size)
        self._target_policy = Towers(
            self._target_actor_weights, [self.target_actor], size, within=self._policy
        )
        self._values = Towers(self._critic_weights, self.critics, size)
        self._target_values = Towers(
            self._target_critic_weights, self.target_critics, size, within=self._values
        )
        # The actor climbs the first critic alone.
        self._climbed = Towers(self._critic_weights, self.critics[:1], size, within=self._values)
        self._uphill = torch.full((1, size, 1), -1.0 / size, device=device)
        self._errors = torch.zeros(num_critics, size, 1, device=device)
        self._heads = actor_heads(self.actor, self._actor_weights, arguments.num_envs)

    def make_actor(self, observation_size: int) -> DeterministicActor:
        return DeterministicActor(observation_size, self.action_range, batched_range=True)

    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float32]:
        (actions,) = self._heads(observations)
        self.action_range.stretch(np.tanh(actions, out=actions))
        actions += rng.standard_normal(actions.shape, np.float32) * self.exploration_deviation
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
        self.critic_optimizer.step()
        return values

    def next_actions(self) -> Tensor:
        """What the target policy would do next."""
        (raw,) = self._target_policy.forward(self.rows.next_observations)
        return self._stretched(raw[0].tanh_())

    def update_actor(self) -> Tensor:
        """One step up the first critic's value of the policy's actions; then the targets follow."""
        rows = self.rows
        (raw,) = self._policy.forward(rows.observations)
        squashed = raw[0].tanh_()
        # The critics have learnt from the stored actions: the policy's take their place.
        rows.actions.copy_(self._stretched(squashed))
        (values,) = self._climbed.forward(rows.inputs)
        d_inputs = self._climbed.input_gradient(self._uphill)
        d_actions = d_inputs[0, :, rows.observations.shape[1] :]
        d_raw = (1.0 - squashed * squashed).mul_(d_actions).mul_(self.actor.action_scale)
        self._policy.backward(d_raw[None])
        self.actor_optimizer.step()
        self._target_actor_weights.values.data.lerp_(self._actor_weights.values.data, self.tau)
        self._target_critic_weights.values.data.lerp_(self._critic_weights.values.data, self.tau)
        return values

    def _stretched(self, squashed: Tensor) -> Tensor:
        return torch.addcmul(self.actor.action_bias, squashed, self.actor.action_scale)

    def figures(self) -> dict[str, float]:
        (values,) = self._values.heads
        means = values.output.mean((1, 2)).tolist()
        losses = self._errors.square().mean((1, 2)).tolist()
        (climbed,) = self._climbed.heads
        figures = {f"losses/qf{index}_values": mean for index, mean in enumerate(means, 1)}
        figures |= {f"losses/qf{index}_loss": loss for index, loss in enumerate(losses, 1)}
        if len(losses) > 1:
            figures["losses/qf_loss"] = sum(losses) / len(losses)
        figures["losses/actor_loss"] = -climbed.output.mean().item()
        return figures

    def model(self) -> ModelFile:
        return ModelFile(self.actor, *self.critics)

    def parts(self) -> Mapping[str, Stateful]:
        targets = {
            f"qf{index}_target": critic for index, critic in enumerate(self.target_critics, 1)
        }
        return {
            "target_actor": self.target_actor,
            **targets,
            "actor_optimizer": self.actor_optimizer,
            "q_optimizer": self.critic_optimizer,
        }

    def changed_tensors(self) -> Sequence[Tensor]:
        return [
            *self.actor_optimizer.tensors(),
            *self.critic_optimizer.tensors(),
            self._target_actor_weights.values.data,
            self._target_critic_weights.values.data,
        ]


if __name__ == "__main__":
    from cleanrl_worker.kit.standalone import run_alone

    run_alone("ddpg_continuous_action")
