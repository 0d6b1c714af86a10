"""DQN: Q-learning with a network, from replayed transitions and a target network (Mnih 2015)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import mse_loss

from cleanrl_worker.accelerators.dqn import accelerated_dqn
from cleanrl_worker.accelerators.learners import QLearner, QMetrics
from cleanrl_worker.agents.q_networks import ObservationInput, QNetwork, spaces_of
from cleanrl_worker.arguments import Arguments
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.exploration import (
    announce_exploration,
    epsilon_greedy,
    exploration_rate,
    multiples_within,
)
from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters
from cleanrl_worker.kit.replay_buffers import Batch, FrameReplayBuffer, ReplayBuffer
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from mosaic.worker import option

LOG_INTERVAL = 100  # steps


@dataclass(frozen=True)
class DQNArguments(Arguments):
    buffer_size: int = option(10_000, help="transitions the replay buffer holds", minimum=1)
    batch_size: int = option(128, help="transitions of one update", minimum=1)
    tau: float = option(
        1.0, help="how far the target network moves at a sync; 1 copies", minimum=0.0, maximum=1.0
    )
    target_network_frequency: int = option(
        500, help="steps between syncs of the target network", minimum=1
    )
    start_e: float = option(1.0, help="share of random actions at first", minimum=0.0, maximum=1.0)
    end_e: float = option(0.05, help="share of random actions at last", minimum=0.0, maximum=1.0)
    exploration_fraction: float = option(
        0.5, help="part of the run after which end_e is reached", minimum=0.0, maximum=1.0
    )
    learning_starts: int = option(10_000, help="steps before the first update", minimum=0)
    train_frequency: int = option(10, help="steps per update", minimum=1)


ARGUMENTS = DQNArguments


def train(arguments: DQNArguments, session: Session) -> None:
    """Act, store, learn. Each round ends with an update."""
    with session.environments() as envs:
        network = QNetwork(*spaces_of(envs)).to(session.device)
        choose_threads(arguments, default=1 if network.is_small else 2)
        plain = DQNLearner(network, arguments)
        buffer = make_replay_buffer(arguments, envs)
        envs.reset(arguments.seed)
        session.register(
            ModelFile(network),
            optimizer=plain.optimizer,
            target=plain.target,
            buffer=buffer,
            envs=envs,
        )
        learner = make_learner(plain, arguments)
        announce_exploration(session)
        with np.errstate(over="ignore", invalid="ignore"):  # `record` refuses what is not finite
            while session.should_continue():
                start = session.global_step
                epsilon = play_until_update(arguments, session, envs, learner, buffer)
                end = session.global_step
                if end > arguments.learning_starts:
                    updates = multiples_within(start, end, arguments.train_frequency)
                    for _ in range(updates):
                        learner.update(buffer.sample(arguments.batch_size, session.rng))
                    if updates and multiples_within(start, end, LOG_INTERVAL):
                        loss, value = learner.metrics()
                        metrics = {"losses/td_loss": loss, "losses/q_values": value}
                        session.record({**metrics, "charts/epsilon": epsilon})
                    if multiples_within(start, end, arguments.target_network_frequency):
                        plain.target_weights.move_towards(plain.weights, arguments.tau)
                session.checkpoint_if_due()


def make_learner(plain: DQNLearner, arguments: DQNArguments) -> QLearner:
    """An accelerator where there is one for this network and device, else plain torch."""
    return accelerated_dqn(plain, arguments.gamma, arguments) or plain


def make_replay_buffer(arguments: DQNArguments, envs: EnvBatch) -> ReplayBuffer | FrameReplayBuffer:
    """Frames of a stack overlap and are kept once each."""
    shape, _ = spaces_of(envs)
    is_image = envs.observation_space.dtype == np.uint8
    kind = FrameReplayBuffer if ObservationInput(shape).has_frames else ReplayBuffer
    dtype = np.uint8 if is_image else np.float32
    return kind(arguments.buffer_size, shape, dtype, (), np.int64, envs.num_envs)


def play_until_update(
    arguments: DQNArguments,
    session: Session,
    envs: EnvBatch,
    learner: QLearner,
    buffer: ReplayBuffer | FrameReplayBuffer,
) -> float:
    """Store transitions until the next update is due; returns the last exploration rate."""
    _, num_actions = spaces_of(envs)
    exploring_steps = arguments.exploration_fraction * session.planned_timesteps
    frequency = arguments.train_frequency
    next_update = (session.global_step // frequency + 1) * frequency
    end = min(next_update, arguments.total_timesteps)
    observations, epsilon = envs.observations, arguments.start_e
    while session.global_step < end:
        epsilon = exploration_rate(
            arguments.start_e, arguments.end_e, exploring_steps, session.global_step
        )
        actions = epsilon_greedy(learner.greedy, observations, epsilon, num_actions, session.rng)
        step = envs.step(actions)
        buffer.add(observations, step.next_observations(), actions, step.rewards, step.terminated)
        observations = step.observations
        session.global_step += envs.num_envs
        if step.episodes:
            session.record_episodes(step.episodes)
    return epsilon


class DQNLearner:
    """The network, the older copy its targets come from, and the update in plain torch."""

    def __init__(self, network: QNetwork, arguments: DQNArguments) -> None:
        self.network = network
        self.target = copy.deepcopy(network).requires_grad_(False)
        self.weights, self.target_weights = FlatParameters(network), FlatParameters(self.target)
        self.optimizer = FlatAdam(self.weights, arguments.learning_rate)
        self.gamma = arguments.gamma
        self.device = self.weights.gradient.device
        self.step = self.update_tensors  # set apart, as a recorded graph may take its place
        self.last_metrics = torch.zeros(2)

    @torch.no_grad()
    def greedy(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        values = self.network(torch.from_numpy(observations).to(self.device))
        actions: NDArray[np.int64] = values.argmax(1).cpu().numpy()
        return actions

    def update(self, batch: Batch) -> None:
        self.last_metrics = self.step(*[torch.from_numpy(part).to(self.device) for part in batch])

    def update_tensors(
        self,
        observations: Tensor,
        next_observations: Tensor,
        actions: Tensor,
        rewards: Tensor,
        terminated: Tensor,
    ) -> Tensor:
        """One step down the squared distance to the reward and the target's best next value.

        Only a terminated episode is worth nothing beyond its end; a truncated one would continue.
        Returns the loss and the mean value of the actions taken.
        """
        with torch.no_grad():
            following = self.target(next_observations).amax(1)
            targets = rewards + self.gamma * (1.0 - terminated) * following
        values = self.network(observations).gather(1, actions[:, None]).squeeze(1)
        loss = mse_loss(values, targets)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return torch.stack([loss.detach(), values.detach().mean()])

    def metrics(self) -> QMetrics:
        return QMetrics(*self.last_metrics.tolist())


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("dqn")
