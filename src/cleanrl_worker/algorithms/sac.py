"""SAC: a stochastic policy that seeks value and entropy, with twin critics (Haarnoja 2018)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import mse_loss

from cleanrl_worker.accelerators.learners import ReplayLearner
from cleanrl_worker.accelerators.sac import accelerated_sac
from cleanrl_worker.agents.continuous_control import (
    ActionCritic,
    ActionRange,
    SoftActor,
    Temperature,
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
LOG_SQRT_TAU = math.log(math.sqrt(2.0 * math.pi))
SQUASH_EPSILON = 1e-6  # keeps the logarithm finite at the bounds
CPU_THREADS = 2  # products of 256x256 matrices keep two busy


@dataclass(frozen=True)
class SACArguments(Arguments):
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
    learning_rate: float = option(
        0.0, help="policy_lr and q_lr at once; 0 leaves them as they are", minimum=0.0
    )
    buffer_size: int = option(1_000_000, help="transitions the replay buffer holds", minimum=1)
    batch_size: int = option(256, help="transitions of one update", minimum=1)
    tau: float = option(
        0.005, help="how far the target networks move at a time", minimum=0.0, maximum=1.0
    )
    learning_starts: int = option(5_000, help="random steps before the first update", minimum=0)
    policy_frequency: int = option(
        2, help="updates of the critics between as many of the actor", minimum=1
    )
    policy_lr: float = option(3e-4, help="step size of the actor's optimiser", minimum=0.0)
    q_lr: float = option(1e-3, help="step size of the critics' and of alpha's", minimum=0.0)
    target_network_frequency: int = option(
        1, help="updates of the critics to one of their targets", minimum=1
    )
    alpha: float = option(0.2, help="worth of entropy where autotune is off", minimum=0.0)
    autotune: bool = option(True, help="learn alpha, towards one nat less per action dimension")


ARGUMENTS = SACArguments


def train(arguments: SACArguments, session: Session) -> None:
    """Act, store, learn: one update for each step of all environments."""
    choose_threads(arguments, default=CPU_THREADS)
    with session.environments() as envs:
        size, action_range = vector_size(envs), ActionRange.of(envs.action_space)
        plain = SACLearner(arguments, size, action_range, session.device)
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
            qf1=plain.critics[0],
            qf2=plain.critics[1],
            qf1_target=plain.target_critics[0],
            qf2_target=plain.target_critics[1],
            temperature=plain.temperature,
            actor_optimizer=plain.actor_optimizer,
            q_optimizer=plain.critic_optimizer,
            alpha_optimizer=plain.alpha_optimizer,
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


def make_learner(plain: SACLearner, arguments: SACArguments, session: Session) -> ReplayLearner:
    """An accelerator of the same networks, or plain torch where that is wanted."""
    return accelerated_sac(plain, plain.action_range, arguments, session) or plain


class SACLearner:
    """Actor, critics, the slower copies of these, alpha, and the update in plain torch."""

    def __init__(
        self,
        arguments: SACArguments,
        observation_size: int,
        action_range: ActionRange,
        device: torch.device,
    ) -> None:
        self.arguments, self.action_range, self.device = arguments, action_range, device
        self.target_entropy = -float(action_range.size)
        self.actor = SoftActor(observation_size, action_range).to(device)
        self.critics = [
            ActionCritic(observation_size, action_range.size).to(device) for _ in range(2)
        ]
        self.target_critics = copy.deepcopy(self.critics)
        self.temperature = Temperature().to(device)
        self.critic_weights = FlatParameters(*self.critics)
        self.target_critic_weights = FlatParameters(*self.target_critics)
        policy_rate = arguments.learning_rate or arguments.policy_lr
        critic_rate = arguments.learning_rate or arguments.q_lr
        self.actor_optimizer = FlatAdam(FlatParameters(self.actor), policy_rate)
        self.critic_optimizer = FlatAdam(self.critic_weights, critic_rate)
        self.alpha_optimizer = FlatAdam(FlatParameters(self.temperature), critic_rate)
        self.critic_metrics: dict[str, Tensor] = {}
        self.actor_loss = self.alpha_loss = torch.zeros(())

    def model(self) -> ModelFile:
        """What CleanRL saves for this algorithm."""
        return ModelFile(self.actor)

    @torch.no_grad()
    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> Array:
        """Actions drawn from the policy."""
        rows = torch.from_numpy(observations.astype(np.float32, copy=False)).to(self.device)
        mean, log_std = (head.cpu().numpy() for head in self.actor(rows))
        raw: Array = mean + np.exp(log_std) * rng.standard_normal(mean.shape, np.float32)
        return self.action_range.stretch(np.tanh(raw))

    def update(self, batch: Batch, iteration: int) -> None:
        """One step of the critics, and what else is due at this iteration."""
        arguments = self.arguments
        parts = [torch.from_numpy(part).to(self.device) for part in batch]
        observations, next_observations, actions, rewards, terminated = parts
        with torch.no_grad():
            next_actions, log_probability = sample_actions(self.actor, next_observations)
            lowest = self.lowest_value(self.target_critics, next_observations, next_actions)
            next_values = lowest - self.alpha() * log_probability
            # A truncated episode continues; a terminated one does not.
            targets = rewards + arguments.gamma * (1.0 - terminated) * next_values
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

        if iteration % arguments.policy_frequency == 0:
            for _ in range(arguments.policy_frequency):  # late, but as often as the critics
                self.update_actor(observations)
        if iteration % arguments.target_network_frequency == 0:
            self.target_critic_weights.move_towards(self.critic_weights, arguments.tau)

    def update_actor(self, observations: Tensor) -> None:
        """One step down alpha * log-probability - lowest value; then alpha follows the entropy."""
        alpha = self.alpha()
        actions, log_probability = sample_actions(self.actor, observations)
        lowest = self.lowest_value(self.critics, observations, actions)
        actor_loss = (alpha * log_probability - lowest).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        self.actor_loss = actor_loss.detach()
        if self.arguments.autotune:
            surplus = (log_probability + self.target_entropy).detach().mean()
            alpha_loss = (-self.temperature.log_alpha.exp() * surplus).sum()
            self.alpha_optimizer.zero_grad()
            alpha_loss.backward()
            self.alpha_optimizer.step()
            self.alpha_loss = alpha_loss.detach()

    def alpha(self) -> Tensor:
        """What a unit of entropy is worth now."""
        if self.arguments.autotune:
            return self.temperature.log_alpha.detach().exp()
        return torch.full((1,), self.arguments.alpha, device=self.device)

    def lowest_value(
        self, critics: list[ActionCritic], observations: Tensor, actions: Tensor
    ) -> Tensor:
        return torch.minimum(*(critic(observations, actions) for critic in critics)).squeeze(1)

    def metrics(self) -> dict[str, float]:
        found = {**self.critic_metrics, "losses/actor_loss": self.actor_loss}
        found["losses/alpha"] = self.alpha()
        if self.arguments.autotune:
            found["losses/alpha_loss"] = self.alpha_loss
        return {name: value.item() for name, value in found.items()}


def sample_actions(actor: SoftActor, observations: Tensor) -> tuple[Tensor, Tensor]:
    """Actions drawn from the squashed Gaussian, and their log-probabilities (rows,)."""
    mean, log_std = actor(observations)
    noise = torch.randn_like(mean)
    squashed = torch.tanh(mean + log_std.exp() * noise)
    log_probability = -0.5 * noise.square() - log_std - LOG_SQRT_TAU
    log_probability -= torch.log(actor.action_scale * (1.0 - squashed.square()) + SQUASH_EPSILON)
    return squashed * actor.action_scale + actor.action_bias, log_probability.sum(1)


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("sac_continuous_action")
