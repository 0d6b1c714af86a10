"""SAC for actions that can be counted: expectations in place of samples (Christodoulou 2019)."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.agents.discrete_soft_actor_critic import DiscreteSoftActor, SoftQNetwork
from cleanrl_worker.agents.q_network import spaces_of
from cleanrl_worker.agents.soft_actor_critic import Temperature
from cleanrl_worker.algorithms.dqn import multiples_within
from cleanrl_worker.algorithms.graph_recording import record_graphs_if_wanted
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.arguments import MAX_TIMESTEPS, Arguments
from cleanrl_worker.kit.cuda_graph import Function, graphed
from cleanrl_worker.kit.flat_adam import FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters
from cleanrl_worker.kit.frame_replay_buffer import FrameReplayBuffer
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.replay_buffer import Batch, ReplayBuffer
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from cleanrl_worker.kit.stateful import Stateful
from mosaic.worker import option

ADAM_EPSILON = 1e-4  # larger than usual: entropies this small would else drive large steps
LOG_INTERVAL = 100  # steps
CPU_THREADS = 2
FIGURES = (
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
        "BeamRiderNoFrameskip-v4", help="environment; see `mosaic envs`", editor="env_id"
    )
    total_timesteps: int = option(
        5_000_000, help="environment steps of the whole run", minimum=1, maximum=MAX_TIMESTEPS
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
    choose_threads(arguments, default=CPU_THREADS)
    with session.environments() as envs:
        learner = DiscreteSACLearner(arguments, *spaces_of(envs), session.device)
        learn_by_replay(arguments, session, envs, learner)


def learn_by_replay(
    arguments: SACDiscreteArguments, session: Session, envs: EnvBatch, learner: DiscreteSACLearner
) -> None:
    """Act, store, and learn every few steps."""
    shape, num_actions = spaces_of(envs)
    dtype = envs.reset(arguments.seed).dtype
    make_buffer = FrameReplayBuffer if learner.actor.inputs.has_frames else ReplayBuffer
    buffer = make_buffer(arguments.buffer_size, shape, dtype, (), np.int64, envs.num_envs)
    session.keep(ModelFile(learner.actor), buffer=buffer, envs=envs, **learner.parts())
    record_graphs_if_wanted(lambda: learner.record_graphs(envs, arguments.batch_size), session)
    observations = envs.observations
    while session.goes_on():
        start = session.global_step
        if start < arguments.learning_starts:
            actions = session.rng.integers(num_actions, size=envs.num_envs)
        else:
            actions = learner.explore(observations, session.rng)
        step = envs.step(actions)
        buffer.add(observations, step.next_observations(), actions, step.rewards, step.terminated)
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
            session.record(learner.figures())
        session.checkpoint_if_due()


class DiscreteSACLearner:
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

        self._actor_weights = FlatParameters(self.actor)
        self._critic_weights = FlatParameters(*self.critics)
        self._target_weights = FlatParameters(*self.target_critics)
        self._log_alpha = FlatParameters(self.temperature)
        policy_rate = arguments.learning_rate or arguments.policy_lr
        critic_rate = arguments.learning_rate or arguments.q_lr
        self.actor_optimizer = FlatAdam(self._actor_weights, policy_rate, ADAM_EPSILON)
        self.critic_optimizer = FlatAdam(self._critic_weights, critic_rate, ADAM_EPSILON)
        self.alpha_optimizer = FlatAdam(self._log_alpha, critic_rate, ADAM_EPSILON)
        # Set apart from the methods, as recorded graphs take their place.
        self._step: Function = self.learn
        self._logits: Function = self.actor
        self._figures: Tensor | None = None

    @torch.no_grad()
    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
        """Drawn from the policy: the largest of logits with Gumbel noise."""
        logits = self._logits(torch.from_numpy(observations).to(self.device)).cpu().numpy()
        actions: NDArray[np.int64] = (logits + rng.gumbel(size=logits.shape)).argmax(1)
        return actions

    def update(self, batch: Batch) -> None:
        """One step of critics, actor and alpha."""
        self._figures = self._step(*(torch.from_numpy(part).to(self.device) for part in batch))

    def learn(
        self,
        observations: Tensor,
        next_observations: Tensor,
        actions: Tensor,
        rewards: Tensor,
        terminated: Tensor,
    ) -> Tensor:
        alpha = self._log_alpha.values.detach().exp() if self.autotune else self.fixed_alpha
        with torch.no_grad():
            targets = rewards + self.gamma * (1.0 - terminated) * self.soft_values(
                next_observations, alpha
            )
        taken = actions[:, None]
        values = torch.cat([critic(observations).gather(1, taken) for critic in self.critics], 1)
        losses = (values - targets[:, None]).square().mean(0)
        descend(losses.sum(), self._critic_weights, self.critic_optimizer)

        with torch.no_grad():
            lowest = torch.minimum(*(critic(observations) for critic in self.critics))
        log_probabilities = F.log_softmax(self.actor(observations), 1)
        probabilities = log_probabilities.exp()
        actor_loss = (probabilities * (alpha * log_probabilities - lowest)).mean()
        descend(actor_loss, self._actor_weights, self.actor_optimizer)

        with torch.no_grad():
            surplus = (probabilities * (log_probabilities + self.target_entropy)).mean()
            alpha_loss = -alpha * surplus
            if self.autotune:
                # The loss is alpha times a constant, so it is its own gradient by log(alpha).
                self._log_alpha.gradient.copy_(alpha_loss)
                self.alpha_optimizer.step()
            now = self._log_alpha.values.exp() if self.autotune else losses.new_tensor([alpha])
            parts = (values.mean(0), losses, losses.mean().view(1), actor_loss.view(1), now)
            return torch.cat((*parts, alpha_loss.view(1)))

    def soft_values(self, observations: Tensor, alpha: Tensor | float) -> Tensor:
        """What the policy expects from here: the lower value and its own entropy."""
        log_probabilities = F.log_softmax(self.actor(observations), 1)
        lowest = torch.minimum(*(critic(observations) for critic in self.target_critics))
        return (log_probabilities.exp() * (lowest - alpha * log_probabilities)).sum(1)

    def move_targets(self) -> None:
        self._target_weights.values.data.lerp_(self._critic_weights.values.data, self.tau)

    def figures(self) -> dict[str, float]:
        """Losses and values of the last update, by CleanRL's names; waits for the GPU."""
        if self._figures is None:
            return {}
        names = FIGURES if self.autotune else FIGURES[:-1]
        values = self._figures.tolist()
        return {f"losses/{name}": value for name, value in zip(names, values, strict=False)}

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

    def record_graphs(self, envs: EnvBatch, batch_size: int) -> None:
        """On a GPU: replay the update, and acting, with one launch. Raises RuntimeError."""
        observations = torch.from_numpy(envs.observations).to(self.device)
        rows = observations[:1].expand(batch_size, *observations.shape[1:])
        numbers = torch.zeros(batch_size, device=self.device)
        inputs = (rows, rows, numbers.long(), numbers, numbers)
        changed = [
            *self.actor_optimizer.tensors(),
            *self.critic_optimizer.tensors(),
            *self.alpha_optimizer.tensors(),
        ]
        step = graphed(self.learn, inputs, changed)
        with torch.no_grad():
            self._logits = graphed(self.actor, [observations])
        self._step = step


def descend(loss: Tensor, flat: FlatParameters, optimizer: FlatAdam) -> None:
    flat.gradient.zero_()
    loss.backward()
    optimizer.step()


if __name__ == "__main__":
    from cleanrl_worker.kit.standalone import run_alone

    run_alone("sac_atari")
