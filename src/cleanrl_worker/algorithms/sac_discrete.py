"""SAC for actions that can be counted: expectations in place of samples (Christodoulou 2019)."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.accelerators.cuda_graphs import Function
from cleanrl_worker.accelerators.sac_discrete import accelerate_sac_discrete
from cleanrl_worker.agents.continuous_control import Temperature
from cleanrl_worker.agents.discrete_soft_actor_critic import DiscreteSoftActor, SoftQNetwork
from cleanrl_worker.agents.q_networks import spaces_of
from cleanrl_worker.arguments import MAX_TIMESTEPS, Arguments
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.exploration import multiples_within
from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters
from cleanrl_worker.kit.replay_buffers import Batch, FrameReplayBuffer, ReplayBuffer
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from mosaic.worker import option

ADAM_EPSILON = 1e-4  # larger than usual: entropies this small would else drive large steps
LOG_INTERVAL = 100  # steps
CPU_THREADS = 2
METRICS = (
    "qf1_values",
    "qf2_values",
    "qf1_loss",
    "qf2_loss",
    "qf_loss",
    "actor_loss",
    "alpha",
    "alpha_loss",
)


@dataclass(frozen=True)
class SACDiscreteArguments(Arguments):
    env_id: str = option(
        "BeamRiderNoFrameskip-v4",
        help="environment; see `mosaic envs`",
        editor="env_id",
        section="",
    )
    total_timesteps: int = option(
        5_000_000,
        help="environment steps of the whole run",
        minimum=1,
        maximum=MAX_TIMESTEPS,
        section="",
    )
    learning_rate: float = option(
        0.0, help="policy_lr and q_lr at once; 0 leaves them as they are", minimum=0.0
    )
    buffer_size: int = option(1_000_000, help="transitions the replay buffer holds", minimum=1)
    batch_size: int = option(64, help="transitions of one update", minimum=1)
    tau: float = option(
        1.0, help="how far the target networks move at a time; 1 copies", minimum=0.0, maximum=1.0
    )
    learning_starts: int = option(20_000, help="random steps before the first update", minimum=0)
    policy_lr: float = option(3e-4, help="step size of the actor's optimiser", minimum=0.0)
    q_lr: float = option(3e-4, help="step size of the critics' and of alpha's", minimum=0.0)
    update_frequency: int = option(4, help="steps per update", minimum=1)
    target_network_frequency: int = option(
        8_000, help="steps between moves of the target networks", minimum=1
    )
    alpha: float = option(0.2, help="worth of entropy where autotune is off", minimum=0.0)
    autotune: bool = option(True, help="learn alpha, towards target_entropy_scale")
    target_entropy_scale: float = option(
        0.89, help="entropy to keep, as part of that of random actions", minimum=0.0, maximum=1.0
    )


ARGUMENTS = SACDiscreteArguments


def train(arguments: SACDiscreteArguments, session: Session) -> None:
    """Act, store, and learn every few steps."""
    choose_threads(arguments, default=CPU_THREADS)
    with session.environments() as envs:
        shape, num_actions = spaces_of(envs)
        learner = DiscreteSACLearner(arguments, shape, num_actions, session.device)
        dtype = envs.reset(arguments.seed).dtype
        make_buffer = FrameReplayBuffer if learner.actor.inputs.has_frames else ReplayBuffer
        buffer = make_buffer(arguments.buffer_size, shape, dtype, (), np.int64, envs.num_envs)
        session.register(
            ModelFile(learner.actor),
            buffer=buffer,
            envs=envs,
            qf1=learner.critics[0],
            qf2=learner.critics[1],
            qf1_target=learner.target_critics[0],
            qf2_target=learner.target_critics[1],
            temperature=learner.temperature,
            actor_optimizer=learner.actor_optimizer,
            q_optimizer=learner.critic_optimizer,
            alpha_optimizer=learner.alpha_optimizer,
        )
        accelerate_sac_discrete(learner, envs.observations, arguments.batch_size, session)
        observations = envs.observations
        while session.should_continue():
            start = session.global_step
            if start < arguments.learning_starts:
                actions = session.rng.integers(num_actions, size=envs.num_envs)
            else:
                actions = learner.explore(observations, session.rng)
            step = envs.step(actions)
            buffer.add(
                observations, step.next_observations(), actions, step.rewards, step.terminated
            )
            observations = step.observations
            end = session.global_step = start + envs.num_envs
            if step.episodes:
                session.record_episodes(step.episodes)
            if end > arguments.learning_starts:
                for _ in range(multiples_within(start, end, arguments.update_frequency)):
                    learner.update(buffer.sample(arguments.batch_size, session.rng))
                if multiples_within(start, end, arguments.target_network_frequency):
                    learner.move_targets()
            if multiples_within(start, end, LOG_INTERVAL):
                session.record(learner.metrics())
            session.checkpoint_if_due()


class DiscreteSACLearner:
    """Actor, critics, the slower copies of these, alpha, and the update in plain torch."""

    def __init__(
        self,
        arguments: SACDiscreteArguments,
        observation_shape: tuple[int, ...],
        num_actions: int,
        device: torch.device,
    ) -> None:
        self.gamma, self.tau = arguments.gamma, arguments.tau
        self.autotune, self.fixed_alpha = arguments.autotune, arguments.alpha
        self.target_entropy = arguments.target_entropy_scale * math.log(num_actions)
        self.actor = DiscreteSoftActor(observation_shape, num_actions).to(device)
        self.critics = [SoftQNetwork(observation_shape, num_actions).to(device) for _ in range(2)]
        self.target_critics = copy.deepcopy(self.critics)
        self.temperature = Temperature().to(device)
        self.device = device

        self.critic_weights = FlatParameters(*self.critics)
        self.target_weights = FlatParameters(*self.target_critics)
        policy_rate = arguments.learning_rate or arguments.policy_lr
        critic_rate = arguments.learning_rate or arguments.q_lr
        self.actor_optimizer = FlatAdam(FlatParameters(self.actor), policy_rate, ADAM_EPSILON)
        self.critic_optimizer = FlatAdam(self.critic_weights, critic_rate, ADAM_EPSILON)
        self.alpha_optimizer = FlatAdam(FlatParameters(self.temperature), critic_rate, ADAM_EPSILON)
        # Set apart from the methods, as recorded graphs may take their place.
        self.step: Function = self.update_tensors
        self.logits: Function = self.actor
        self.last_metrics: Tensor | None = None

    @torch.no_grad()
    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Drawn from the policy: the largest of logits with Gumbel noise."""
        logits = self.logits(torch.from_numpy(observations).to(self.device)).cpu().numpy()
        actions: NDArray[np.int64] = (logits + rng.gumbel(size=logits.shape)).argmax(1)
        return actions

    def update(self, batch: Batch) -> None:
        self.last_metrics = self.step(*(torch.from_numpy(part).to(self.device) for part in batch))

    def update_tensors(
        self,
        observations: Tensor,
        next_observations: Tensor,
        actions: Tensor,
        rewards: Tensor,
        terminated: Tensor,
    ) -> Tensor:
        """One step of critics, actor and alpha; returns the METRICS."""
        alpha = self.temperature.log_alpha.detach().exp() if self.autotune else self.fixed_alpha
        with torch.no_grad():
            targets = rewards + self.gamma * (1.0 - terminated) * self.soft_values(
                next_observations, alpha
            )
        taken = actions[:, None]
        values = torch.cat([critic(observations).gather(1, taken) for critic in self.critics], 1)
        losses = (values - targets[:, None]).square().mean(0)
        self.critic_optimizer.zero_grad()
        losses.sum().backward()
        self.critic_optimizer.step()

        with torch.no_grad():
            lowest = torch.minimum(*(critic(observations) for critic in self.critics))
        log_probabilities = F.log_softmax(self.actor(observations), 1)
        probabilities = log_probabilities.exp()
        actor_loss = (probabilities * (alpha * log_probabilities - lowest)).mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()

        with torch.no_grad():
            surplus = (probabilities * (log_probabilities + self.target_entropy)).mean()
            alpha_loss = -alpha * surplus
            if self.autotune:
                # The loss is alpha times a constant, so it is its own gradient by log(alpha).
                self.alpha_optimizer.gradient.copy_(alpha_loss)
                self.alpha_optimizer.step()
            now = self.temperature.log_alpha.exp() if self.autotune else losses.new_tensor([alpha])
            parts = (values.mean(0), losses, losses.mean().view(1), actor_loss.view(1), now)
            return torch.cat((*parts, alpha_loss.view(1)))

    def soft_values(self, observations: Tensor, alpha: Tensor | float) -> Tensor:
        """What the policy expects from here: the lower value and its own entropy."""
        log_probabilities = F.log_softmax(self.actor(observations), 1)
        lowest = torch.minimum(*(critic(observations) for critic in self.target_critics))
        return (log_probabilities.exp() * (lowest - alpha * log_probabilities)).sum(1)

    def move_targets(self) -> None:
        self.target_weights.move_towards(self.critic_weights, self.tau)

    def metrics(self) -> dict[str, float]:
        """Losses and values of the last update, by CleanRL's names; waits for the GPU."""
        if self.last_metrics is None:
            return {}
        names = METRICS if self.autotune else METRICS[:-1]
        values = self.last_metrics.tolist()
        return {f"losses/{name}": value for name, value in zip(names, values, strict=False)}


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("sac_atari")
