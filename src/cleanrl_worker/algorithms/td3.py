"""TD3: DDPG with twin critics, a smoothed target policy and a delayed actor (Fujimoto 2018)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import mse_loss

from cleanrl_worker.accelerators.deterministic import (
    DeterministicNetworks,
    Smoothing,
    accelerated_deterministic,
)
from cleanrl_worker.accelerators.learners import ReplayLearner
from cleanrl_worker.agents.continuous_control import (
    ActionCritic,
    ActionRange,
    DeterministicActor,
    vector_size,
)
from cleanrl_worker.arguments import MAX_TIMESTEPS, Arguments
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters
from cleanrl_worker.kit.replay_buffers import Batch, ReplayBuffer
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from mosaic.worker import option

Array = NDArray[np.float32]

LOG_INTERVAL = 100  # updates between two readings of the losses
SPEED_INTERVAL = 1000  # random steps between two reports of the speed
CPU_THREADS = 2  # products of 256x256 matrices keep two busy


@dataclass(frozen=True)
class TD3Arguments(Arguments):
    env_id: str = option(
        "Hopper-v4", help="environment; see `mosaic envs`", editor="env_id", section=""
    )
    total_timesteps: int = option(
        1_000_000,
        help="environment steps of the whole run",
        minimum=1,
        maximum=MAX_TIMESTEPS,
        section="",
    )
    learning_rate: float = option(3e-4, help="step size of the optimisers", minimum=0.0)
    buffer_size: int = option(1_000_000, help="transitions the replay buffer holds", minimum=1)
    batch_size: int = option(256, help="transitions of one update", minimum=1)
    tau: float = option(
        0.005, help="how far the target networks move at a time", minimum=0.0, maximum=1.0
    )
    learning_starts: int = option(25_000, help="random steps before the first update", minimum=0)
    policy_frequency: int = option(2, help="updates of the critics to one of the actor", minimum=1)
    exploration_noise: float = option(
        0.1, help="deviation of the noise on actions, as part of half their range", minimum=0.0
    )
    policy_noise: float = option(
        0.2, help="deviation of the noise on the target policy's actions", minimum=0.0
    )
    noise_clip: float = option(0.5, help="the largest such noise", minimum=0.0)


ARGUMENTS = TD3Arguments


def train(arguments: TD3Arguments, session: Session) -> None:
    """Act, store, learn: one update for each step of all environments."""
    choose_threads(arguments, default=CPU_THREADS)
    with session.environments() as envs:
        size, action_range = vector_size(envs), ActionRange.of(envs.action_space)
        plain = TD3Learner(arguments, size, action_range, session.device)
        buffer = ReplayBuffer(
            arguments.buffer_size,
            (size,),
            np.float32,
            (action_range.size,),
            np.float32,
            envs.num_envs,
        )
        envs.reset(arguments.seed)
        session.register(
            plain.model(),
            buffer=buffer,
            envs=envs,
            target_actor=plain.target_actor,
            qf1_target=plain.target_critics[0],
            qf2_target=plain.target_critics[1],
            actor_optimizer=plain.actor_optimizer,
            q_optimizer=plain.critic_optimizer,
        )
        learner = make_learner(plain, arguments, session)
        observations = envs.observations
        while session.should_continue():
            is_random = session.global_step < arguments.learning_starts
            is_learning = session.global_step > arguments.learning_starts
            iteration = session.global_step // envs.num_envs
            if is_random:
                actions = action_range.random(envs.num_envs, session.rng)
            else:
                actions = learner.explore(observations, session.rng)
            step = envs.step(actions)
            buffer.add(
                observations, step.next_observations(), actions, step.rewards, step.terminated
            )
            observations = step.observations
            if is_learning:
                learner.update(buffer.sample(arguments.batch_size, session.rng), iteration)
            session.global_step += envs.num_envs
            if step.episodes:
                session.record_episodes(step.episodes)
            if is_learning and iteration % LOG_INTERVAL == 0:
                session.record(learner.metrics())
            elif iteration % SPEED_INTERVAL == 0:
                session.record({})
            session.checkpoint_if_due()


def make_learner(plain: TD3Learner, arguments: TD3Arguments, session: Session) -> ReplayLearner:
    """An accelerator of the same networks, or plain torch where that is wanted."""
    networks = DeterministicNetworks(
        plain.actor,
        plain.critics,
        plain.target_actor,
        plain.target_critics,
        plain.target_actor_weights,
        plain.target_critic_weights,
        plain.actor_optimizer,
        plain.critic_optimizer,
    )
    smoothing = Smoothing(arguments.policy_noise, arguments.noise_clip)
    fast = accelerated_deterministic(networks, plain.action_range, arguments, session, smoothing)
    return fast or plain


class TD3Learner:
    """Actor, critics, the slower copies their targets come from, and the update in plain torch."""

    def __init__(
        self,
        arguments: TD3Arguments,
        observation_size: int,
        action_range: ActionRange,
        device: torch.device,
    ) -> None:
        self.arguments, self.action_range, self.device = arguments, action_range, device
        self.actor = DeterministicActor(observation_size, action_range).to(device)
        self.critics = [
            ActionCritic(observation_size, action_range.size).to(device) for _ in range(2)
        ]
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critics = copy.deepcopy(self.critics)
        self.actor_weights = FlatParameters(self.actor)
        self.critic_weights = FlatParameters(*self.critics)
        self.target_actor_weights = FlatParameters(self.target_actor)
        self.target_critic_weights = FlatParameters(*self.target_critics)
        self.actor_optimizer = FlatAdam(self.actor_weights, arguments.learning_rate)
        self.critic_optimizer = FlatAdam(self.critic_weights, arguments.learning_rate)
        self.low = torch.from_numpy(action_range.low).to(device)
        self.high = torch.from_numpy(action_range.high).to(device)
        self.critic_metrics: dict[str, Tensor] = {}
        self.actor_loss = torch.zeros(())

    def model(self) -> ModelFile:
        """What CleanRL saves for this algorithm."""
        return ModelFile(self.actor, *self.critics)

    @torch.no_grad()
    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> Array:
        """The policy's actions with noise, within the bounds."""
        rows = torch.from_numpy(observations.astype(np.float32, copy=False)).to(self.device)
        actions: Array = self.actor(rows).cpu().numpy()
        deviation = self.action_range.scale * np.float32(self.arguments.exploration_noise)
        actions += rng.standard_normal(actions.shape, np.float32) * deviation
        return actions.clip(self.action_range.low, self.action_range.high)

    def update(self, batch: Batch, iteration: int) -> None:
        """One step of the critics; every so often one of the actor, and the targets follow."""
        parts = [torch.from_numpy(part).to(self.device) for part in batch]
        observations, next_observations, actions, rewards, terminated = parts
        with torch.no_grad():
            # Actions nearby count as well, so a critic's narrow error is not a goal for the policy.
            noise = torch.randn_like(actions) * self.arguments.policy_noise
            noise = noise.clamp(-self.arguments.noise_clip, self.arguments.noise_clip)
            next_actions = self.target_actor(next_observations) + noise * self.actor.action_scale
            next_actions = next_actions.clamp(self.low, self.high)
            next_values = torch.minimum(
                *(critic(next_observations, next_actions) for critic in self.target_critics)
            ).squeeze(1)
            # A truncated episode continues; a terminated one does not.
            targets = rewards + self.arguments.gamma * (1.0 - terminated) * next_values
        first, second = (critic(observations, actions).squeeze(1) for critic in self.critics)
        first_loss, second_loss = mse_loss(first, targets), mse_loss(second, targets)
        critic_loss = first_loss + second_loss
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        self.critic_metrics = {
            "losses/qf1_values": first.detach().mean(),
            "losses/qf2_values": second.detach().mean(),
            "losses/qf1_loss": first_loss.detach(),
            "losses/qf2_loss": second_loss.detach(),
            "losses/qf_loss": critic_loss.detach() / 2.0,
        }

        if iteration % self.arguments.policy_frequency == 0:
            actor_loss = -self.critics[0](observations, self.actor(observations)).mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
            self.target_actor_weights.move_towards(self.actor_weights, self.arguments.tau)
            self.target_critic_weights.move_towards(self.critic_weights, self.arguments.tau)
            self.actor_loss = actor_loss.detach()

    def metrics(self) -> dict[str, float]:
        found = {**self.critic_metrics, "losses/actor_loss": self.actor_loss}
        return {name: value.item() for name, value in found.items()}


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("td3_continuous_action")
