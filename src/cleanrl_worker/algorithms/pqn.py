"""PQN: Q-learning on parallel rollouts, without replay and target network (Gallici 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import mse_loss

from cleanrl_worker.accelerators.learners import Actions, QMetrics, RolloutQLearner
from cleanrl_worker.accelerators.pqn import accelerated_pqn
from cleanrl_worker.agents.q_networks import PQNNetwork, spaces_of
from cleanrl_worker.arguments import RolloutArguments
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.exploration import (
    announce_exploration,
    epsilon_greedy,
    exploration_rate,
)
from cleanrl_worker.kit.optimizers import FlatParameters, FlatRAdam
from cleanrl_worker.kit.rollout import Rollout, backward_sums, minibatch_bounds
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from mosaic.worker import option

Array = NDArray[np.float32]


@dataclass(frozen=True)
class PQNArguments(RolloutArguments):
    max_grad_norm: float = option(10.0, help="longest gradient; longer ones shrink", minimum=0.0)
    start_e: float = option(1.0, help="share of random actions at first", minimum=0.0, maximum=1.0)
    end_e: float = option(0.05, help="share of random actions at last", minimum=0.0, maximum=1.0)
    exploration_fraction: float = option(
        0.5, help="part of the run after which end_e is reached", minimum=0.0, maximum=1.0
    )
    q_lambda: float = option(
        0.65, help="weight of returns far ahead against estimates", minimum=0.0, maximum=1.0
    )


ARGUMENTS = PQNArguments


def train(arguments: PQNArguments, session: Session) -> None:
    with session.environments() as envs:
        network = PQNNetwork(*spaces_of(envs)).to(session.device)
        choose_threads(arguments, default=1 if network.is_small else 2)
        optimizer = FlatRAdam(FlatParameters(network), arguments.learning_rate)
        envs.reset(arguments.seed)
        session.register(ModelFile(network), optimizer=optimizer, envs=envs)
        learner = make_learner(network, optimizer, arguments)
        announce_exploration(session)
        rollout = Rollout(arguments.num_steps, envs)
        with np.errstate(over="ignore", invalid="ignore"):  # `record` refuses what is not finite
            while session.should_continue():
                optimizer.learning_rate = arguments.rate_at(session.global_step)
                epsilon = play(arguments, session, envs, learner, rollout)
                learn(arguments, session, learner, rollout)
                loss, value = learner.metrics()
                session.record(
                    {
                        "losses/td_loss": loss,
                        "losses/q_values": value,
                        "charts/epsilon": epsilon,
                        "charts/learning_rate": optimizer.learning_rate,
                    }
                )
                session.checkpoint_if_due()


def make_learner(
    network: PQNNetwork, optimizer: FlatRAdam, arguments: PQNArguments
) -> RolloutQLearner:
    """An accelerator where there is one for this network and device, else plain torch."""
    limit = arguments.max_grad_norm
    fast = accelerated_pqn(network, optimizer, limit, arguments)
    return fast or PQNLearner(network, optimizer, limit)


def play(
    arguments: PQNArguments,
    session: Session,
    envs: EnvBatch,
    learner: RolloutQLearner,
    rollout: Rollout,
) -> float:
    """Fill the rollout, or what the budget leaves of it; returns the last exploration rate."""
    _, num_actions = spaces_of(envs)
    exploring_steps = arguments.exploration_fraction * session.planned_timesteps
    epsilon = arguments.start_e
    learner.refresh()
    rollout.start(envs.observations)
    for _ in range(arguments.rollout_steps(session.global_step)):
        epsilon = exploration_rate(
            arguments.start_e, arguments.end_e, exploring_steps, session.global_step
        )
        actions = epsilon_greedy(
            learner.greedy, envs.observations, epsilon, num_actions, session.rng
        )
        step = envs.step(actions)
        rollout.add(actions, step)
        session.global_step += envs.num_envs
        if step.episodes:
            session.record_episodes(step.episodes)
    return epsilon


def learn(
    arguments: PQNArguments, session: Session, learner: RolloutQLearner, rollout: Rollout
) -> None:
    """Several passes over the rollout, in random minibatches."""
    steps = rollout.steps
    returns = lambda_returns(
        rollout.rewards[:steps],
        rollout.terminated[:steps],
        rollout.ended[:steps],
        successor_values(learner, rollout),
        arguments.gamma,
        arguments.q_lambda,
    ).ravel()
    observations = merged(rollout.observations[:steps])
    actions = merged(rollout.actions[:steps])
    size = len(actions)
    bounds = minibatch_bounds(size, arguments.num_minibatches, rollout.actions.size)
    for _ in range(arguments.update_epochs):
        order = session.rng.permutation(size)
        for start, end in pairwise(bounds):
            rows = order[start:end]
            learner.update(observations[rows], actions[rows], returns[rows])


def successor_values(learner: RolloutQLearner, rollout: Rollout) -> Array:
    """The best value after each step: of the true last observation where an episode was cut off."""
    steps = rollout.steps
    successors = rollout.observations[1 : steps + 1]
    values = learner.best_values(merged(successors)).reshape(successors.shape[:2])
    if rollout.cut_off:
        where, envs, finals = zip(*rollout.cut_off, strict=True)
        values[where, envs] = learner.best_values(rollout.as_rows(finals))
    return values


def lambda_returns(
    rewards: Array,
    terminated: NDArray[np.bool_],
    ended: NDArray[np.bool_],
    following: Array,
    gamma: float,
    q_lambda: float,
) -> Array:
    """Q(lambda): mixes the rewards that came with the values of the states they came from.

    Where an episode is cut off, or the rollout ends, the value of what would have followed stands
    for all the rest; after a terminated episode there is none.
    """
    discounts = (~terminated).astype(np.float32) * np.float32(gamma)
    carried = discounts * np.float32(q_lambda) * ~ended
    carried[-1] = 0.0
    kept: Array = np.subtract(discounts, carried)
    return backward_sums(rewards + kept * following, carried)


def merged(rows: NDArray[Any]) -> NDArray[Any]:
    """(steps, envs, ...) as (steps * envs, ...)."""
    return rows.reshape(-1, *rows.shape[2:])


class PQNLearner:
    """Acts and learns in plain torch. What its methods promise is in RolloutQLearner."""

    def __init__(self, network: PQNNetwork, optimizer: FlatRAdam, max_grad_norm: float) -> None:
        self.network, self.optimizer = network, optimizer
        self.max_grad_norm = max_grad_norm
        self.device = optimizer.gradient.device
        self.last_metrics = torch.zeros(()), torch.zeros(())

    def refresh(self) -> None:
        """It acts with the very network that learns."""

    @torch.no_grad()
    def greedy(self, observations: NDArray[Any]) -> Actions:
        actions: Actions = self.network(self.tensor(observations)).argmax(1).cpu().numpy()
        return actions

    @torch.no_grad()
    def best_values(self, observations: NDArray[Any]) -> Array:
        values: Array = self.network(self.tensor(observations)).amax(1).cpu().numpy()
        return values

    def update(self, observations: NDArray[Any], actions: Actions, returns: Array) -> None:
        values = self.network(self.tensor(observations))
        chosen = values.gather(1, self.tensor(actions)[:, None]).squeeze(1)
        loss = mse_loss(chosen, self.tensor(returns))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.flat.clip_gradient(self.max_grad_norm)
        self.optimizer.step()
        self.last_metrics = loss.detach(), chosen.detach().mean()

    def metrics(self) -> QMetrics:
        loss, value = self.last_metrics
        return QMetrics(loss.item(), value.item())

    def tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("pqn")
