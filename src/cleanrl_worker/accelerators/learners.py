"""What an algorithm's loop asks of its learner: the interface an accelerator has to fill.

Each algorithm's file has a learner in plain torch. An accelerator stands in for it: the same
methods, the same weights after the same updates, in less time.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.agents.action_distributions import ActionDistribution
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.replay_buffers import Batch
from cleanrl_worker.kit.rollout import Rollout, RolloutBatch

Array = NDArray[np.float32]
Actions = NDArray[np.int64]


class RolloutLearner(Protocol):
    """PPO's. Observations are arrays, or what its own rollout gives."""

    @property
    def distribution(self) -> ActionDistribution:
        """Draws the actions from what the policy puts out."""

    def new_rollout(self, num_steps: int, envs: EnvBatch) -> Rollout:
        """Where the steps are stored."""

    def start_rollout(self, num_envs: int) -> None:
        """The weights will not change until the next update."""

    def act(self, observations: Any, noise: Array) -> NDArray[Any]:
        """One action per environment."""

    def evaluate(self, observations: Any) -> tuple[Array, Array]:
        """Outputs of the policy and values, for many rows at once."""

    def load(self, batch: RolloutBatch) -> None:
        """The rollout that is now learnt from."""

    def start_epoch(self, order: NDArray[np.int64], shift: Array | None) -> None:
        """`order` shuffles the rows; `shift` is taken from the actions."""

    def update(self, start: int, end: int) -> None:
        """One step of the optimiser on these rows of the epoch."""

    def approximate_kl(self) -> float:
        """How far the policy moved, by the last minibatch."""

    def metrics(self) -> dict[str, float]:
        """The last minibatch's losses, named as CleanRL's; the clip fraction is that of all."""


class QMetrics(NamedTuple):
    """What a chart shows of an update; costs time, so it is only worked out when asked for."""

    loss: float
    mean_value: float  # of the actions taken


class QLearner(Protocol):
    """DQN's and C51's."""

    def greedy(self, observations: NDArray[Any]) -> Actions:
        """The action of highest value for each observation."""

    def update(self, batch: Batch) -> None:
        """One step of the optimiser on a batch of transitions."""

    def metrics(self) -> QMetrics:
        """Of the last batch, before its step."""


class RolloutQLearner(Protocol):
    """PQN's."""

    def refresh(self) -> None:
        """From now on act with the weights as they are now learnt."""

    def greedy(self, observations: NDArray[Any]) -> Actions:
        """The action of highest value for each observation."""

    def best_values(self, observations: NDArray[Any]) -> Array:
        """The values of these actions."""

    def update(self, observations: NDArray[Any], actions: Actions, returns: Array) -> None:
        """One step of the optimiser towards these returns."""

    def metrics(self) -> QMetrics:
        """Of the last minibatch, before its step."""


class ReplayLearner(Protocol):
    """DDPG's, TD3's and SAC's."""

    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> Array:
        """Actions for the environments, within the bounds."""

    def update(self, batch: Batch, iteration: int) -> None:
        """One step of the critics, and what else is due at this iteration."""

    def metrics(self) -> dict[str, float]:
        """Losses and values of the last update, by CleanRL's names; waits for a GPU."""
