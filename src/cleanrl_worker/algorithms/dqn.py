"""DQN: Q-learning with a network, from replayed transitions and a target network (Mnih 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from cleanrl_worker.agents.q_learner import AutogradLearner, Network, QLearner, Transitions
from cleanrl_worker.agents.q_network import ObservationInput, QNetwork, spaces_of
from cleanrl_worker.algorithms.exploration import (
    announce_exploration,
    epsilon_greedy,
    exploration_rate,
)
from cleanrl_worker.analytic.q_learner import AnalyticQLearner
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.arguments import Arguments
from cleanrl_worker.kit.frame_replay_buffer import FrameReplayBuffer
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.replay_buffer import ReplayBuffer
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
    with session.environments() as envs:
        network = QNetwork(*spaces_of(envs)).to(session.device)
        learner = make_learner(network, arguments)
        learn_from_replay(arguments, session, envs, learner, ModelFile(network))


def make_learner(network: QNetwork, arguments: DQNArguments) -> QLearner[QNetwork]:
    if not network.needs_autograd:
        choose_threads(arguments, default=1)
        return AnalyticQLearner(network, arguments.gamma, arguments.learning_rate)
    choose_threads(arguments, default=2)
    return AutogradQLearner(
        network, arguments.gamma, arguments.learning_rate, use_graph=arguments.compile
    )


class AutogradQLearner(AutogradLearner[QNetwork]):
    def loss(self, batch: Transitions) -> tuple[Tensor, Tensor]:
        """Squared distance to the reward plus the target network's best value of what follows.

        Only a terminated episode is worth nothing beyond its end; a truncated one would go on.
        """
        with torch.no_grad():
            following = self.target(batch.next_observations).amax(1)
            targets = batch.rewards + self.gamma * (1.0 - batch.terminated) * following
        values = self.network(batch.observations)
        chosen = values.gather(1, batch.actions[:, None]).squeeze(1)
        return mse_loss(chosen, targets), chosen


def learn_from_replay(
    arguments: DQNArguments,
    session: Session,
    envs: EnvBatch,
    learner: QLearner[Network],
    model: ModelFile,
    loss_name: str = "losses/td_loss",
) -> None:
    """The loop of DQN and its relatives: act, store, learn. Each round ends with an update."""
    buffer = make_replay_buffer(arguments, envs)
    envs.reset(arguments.seed)
    session.keep(
        model, optimizer=learner.optimizer, target=learner.target, buffer=buffer, envs=envs
    )
    announce_exploration(session)
    with np.errstate(over="ignore", invalid="ignore"):  # `record` refuses what is not finite
        while session.goes_on():
            start = session.global_step
            epsilon = play_until_update(arguments, session, envs, learner, buffer)
            end = session.global_step
            if end > arguments.learning_starts:
                updates = multiples_within(start, end, arguments.train_frequency)
                for _ in range(updates):
                    learner.learn(buffer.sample(arguments.batch_size, session.rng))
                if updates and multiples_within(start, end, LOG_INTERVAL):
                    loss, value = learner.figures()
                    figures = {loss_name: loss, "losses/q_values": value}
                    session.record({**figures, "charts/epsilon": epsilon})
                if multiples_within(start, end, arguments.target_network_frequency):
                    learner.sync_target(arguments.tau)
            session.checkpoint_if_due()


def play_until_update(
    arguments: DQNArguments,
    session: Session,
    envs: EnvBatch,
    learner: QLearner[Network],
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


def multiples_within(start: int, end: int, interval: int) -> int:
    """How many multiples of `interval` come after `start`, up to and including `end`."""
    return end // interval - start // interval


def make_replay_buffer(arguments: DQNArguments, envs: EnvBatch) -> ReplayBuffer | FrameReplayBuffer:
    """Frames of a stack overlap and are kept once each."""
    shape, _ = spaces_of(envs)
    is_image = envs.observation_space.dtype == np.uint8
    kind = FrameReplayBuffer if ObservationInput(shape).has_frames else ReplayBuffer
    dtype = np.uint8 if is_image else np.float32
    return kind(arguments.buffer_size, shape, dtype, (), np.int64, envs.num_envs)


if __name__ == "__main__":
    from cleanrl_worker.kit.standalone import run_alone

    run_alone("dqn")
