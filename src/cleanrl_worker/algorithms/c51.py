"""C51: DQN that learns the distribution of returns instead of their mean (Bellemare 2017)."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.accelerators.c51 import accelerated_c51
from cleanrl_worker.accelerators.learners import QLearner, QMetrics
from cleanrl_worker.agents.q_networks import (
    LARGEST_PROBABILITY,
    SMALLEST_PROBABILITY,
    C51Network,
    ObservationInput,
    spaces_of,
)
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
from mosaic.worker import ConfigError, option

LOG_INTERVAL = 100  # steps


@dataclass(frozen=True)
class C51Arguments(Arguments):
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
    n_atoms: int = option(101, help="returns a distribution can hold", minimum=2)
    v_min: float = option(-100.0, help="the smallest of these returns")
    v_max: float = option(100.0, help="the largest of these returns")

    def __post_init__(self) -> None:
        if self.v_min >= self.v_max:
            raise ConfigError(
                f"'v_max': {self.v_max} must be larger than v_min, {self.v_min}",
                hint="they enclose the returns to be expected",
                field="v_max",
            )


ARGUMENTS = C51Arguments


def train(arguments: C51Arguments, session: Session) -> None:
    """Act, store, learn. Each round ends with an update."""
    with session.environments() as envs:
        network = C51Network(
            *spaces_of(envs), arguments.n_atoms, arguments.v_min, arguments.v_max
        ).to(session.device)
        choose_threads(arguments, default=1 if network.is_small else 2)
        plain = C51Learner(network, arguments)
        buffer = make_replay_buffer(arguments, envs)
        envs.reset(arguments.seed)
        session.register(
            ModelFile(network, arguments=asdict(arguments)),
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
                        metrics = {"losses/loss": loss, "losses/q_values": value}
                        session.record({**metrics, "charts/epsilon": epsilon})
                    if multiples_within(start, end, arguments.target_network_frequency):
                        plain.target_weights.move_towards(plain.weights, arguments.tau)
                session.checkpoint_if_due()


def make_learner(plain: C51Learner, arguments: C51Arguments) -> QLearner:
    """An accelerator where there is one for this network and device, else plain torch."""
    return accelerated_c51(plain, arguments.gamma, arguments) or plain


def make_replay_buffer(arguments: C51Arguments, envs: EnvBatch) -> ReplayBuffer | FrameReplayBuffer:
    """Frames of a stack overlap and are kept once each."""
    shape, _ = spaces_of(envs)
    is_image = envs.observation_space.dtype == np.uint8
    kind = FrameReplayBuffer if ObservationInput(shape).has_frames else ReplayBuffer
    dtype = np.uint8 if is_image else np.float32
    return kind(arguments.buffer_size, shape, dtype, (), np.int64, envs.num_envs)


def play_until_update(
    arguments: C51Arguments,
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


class C51Learner:
    """The network, the older copy its targets come from, and the update in plain torch."""

    def __init__(self, network: C51Network, arguments: C51Arguments) -> None:
        self.network = network
        self.target = copy.deepcopy(network).requires_grad_(False)
        self.weights, self.target_weights = FlatParameters(network), FlatParameters(self.target)
        self.optimizer = FlatAdam(
            self.weights, arguments.learning_rate, epsilon=0.01 / arguments.batch_size
        )
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
        """One step down the cross entropy with the target's distribution of the best next action.

        Only a terminated episode is worth nothing beyond its end; a truncated one would continue.
        Returns the loss and the mean value of the actions taken.
        """
        rows = torch.arange(len(rewards), device=self.device)
        with torch.no_grad():
            following = self.target.distributions(next_observations)
            best = self.target.values(following).argmax(1)
            discounts = self.gamma * (1.0 - terminated)
            wanted = project(following[rows, best], rewards, discounts, self.target.atoms)
        chosen = self.network.distributions(observations)[rows, actions]
        likely = chosen.clamp(SMALLEST_PROBABILITY, LARGEST_PROBABILITY)
        loss = -(wanted * likely.log()).sum(1).mean()
        values = self.network.values(chosen)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return torch.stack([loss.detach(), values.detach().mean()])

    def metrics(self) -> QMetrics:
        return QMetrics(*self.last_metrics.tolist())


def project(probabilities: Tensor, rewards: Tensor, discounts: Tensor, atoms: Tensor) -> Tensor:
    """Move each atom to `reward + discount * atom`; the two nearest atoms share its probability."""
    last = len(atoms) - 1
    moved = torch.addcmul(rewards[:, None], discounts[:, None], atoms)
    places = (moved - atoms[0]).mul_(last / (atoms[last] - atoms[0])).clamp_(0, last)
    below = places.floor()
    above_share = places.sub_(below) * probabilities
    lower = below.long()
    upper = (lower + 1).clamp_(max=last)  # from the last place a share of 0 goes nowhere
    projected = torch.zeros_like(probabilities)
    projected.scatter_add_(1, lower, probabilities - above_share)
    return projected.scatter_add_(1, upper, above_share)


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("c51")
