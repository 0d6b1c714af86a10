"""What DDPG, TD3 and SAC share: the loop that acts, stores and learns, and its hyperparameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.agents.action_range import ActionRange
from cleanrl_worker.algorithms.actor_heads import ActorHeads, HeadsOnGpu
from cleanrl_worker.algorithms.graph_recording import record_graphs_if_wanted
from cleanrl_worker.algorithms.transition_rows import TransitionRows
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.arguments import MAX_TIMESTEPS, Arguments
from cleanrl_worker.kit.cuda_graph import graphed
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.replay_buffer import Batch, ReplayBuffer
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from cleanrl_worker.kit.stateful import Stateful
from mosaic.errors import ConfigError
from mosaic.worker import option

LOG_INTERVAL = 100  # updates between two readings of the losses
SIGN_OF_LIFE = 1000  # random steps between two reports of the speed
CPU_THREADS = 2  # products of 256x256 matrices keep two busy


@dataclass(frozen=True)
class ContinuousControlArguments(Arguments):
    env_id: str = option("Hopper-v4", help="environment; see `mosaic envs`", editor="env_id")
    total_timesteps: int = option(
        1_000_000, help="environment steps of the whole run", minimum=1, maximum=MAX_TIMESTEPS
    )
    learning_rate: float = option(3e-4, help="step size of the optimisers", minimum=0.0)
    buffer_size: int = option(1_000_000, help="transitions the replay buffer holds", minimum=1)
    batch_size: int = option(256, help="transitions of one update", minimum=1)
    tau: float = option(
        0.005, help="how far the target networks move at a time", minimum=0.0, maximum=1.0
    )
    learning_starts: int = option(25_000, help="random steps before the first update", minimum=0)
    policy_frequency: int = option(2, help="updates of the critics to one of the actor", minimum=1)


class ContinuousLearner(ABC):
    """Networks, targets and optimisers. All tensors keep their place, so a graph can be recorded.

    `update_critics` and `update_actor` work on `rows`; neither gives anything back to the host.
    """

    _heads: ActorHeads  # of the acting policy

    def __init__(
        self,
        arguments: ContinuousControlArguments,
        observation_size: int,
        actions: ActionRange,
        device: torch.device,
    ) -> None:
        self.action_range = actions
        self.gamma, self.tau = arguments.gamma, arguments.tau
        self.batch_size = arguments.batch_size
        self.policy_frequency = arguments.policy_frequency
        self.rows = TransitionRows(arguments.batch_size, observation_size, actions.size, device)
        # Set apart from the methods, as recorded graphs take their place.
        self._critics_step: Callable[[], Tensor] = self.update_critics
        self._actor_step: Callable[[], Tensor] = self.update_actor

    @abstractmethod
    def explore(self, observations: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float32]:
        """Actions for the environments, within the bounds."""

    @abstractmethod
    def update(self, batch: Batch, iteration: int) -> None:
        """One step of the critics, and what else is due at this iteration."""

    @abstractmethod
    def update_critics(self) -> Tensor: ...

    @abstractmethod
    def update_actor(self) -> Tensor: ...

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """Losses and values of the last update, by CleanRL's names; waits for the GPU."""

    @abstractmethod
    def model(self) -> ModelFile:
        """What CleanRL saves for this algorithm."""

    @abstractmethod
    def parts(self) -> Mapping[str, Stateful]:
        """Whatever else a checkpoint needs."""

    @abstractmethod
    def changed_tensors(self) -> Sequence[Tensor]:
        """All that the updates alter and the future depends on."""

    def record_graphs(self) -> None:
        """On a GPU: replay each update, and acting, with one launch. Raises RuntimeError."""
        changed = self.changed_tensors()
        critics_step = graphed(self.update_critics, (), changed)
        actor_step = graphed(self.update_actor, (), changed)
        self._critics_step, self._actor_step = critics_step, actor_step
        if isinstance(self._heads, HeadsOnGpu):
            self._heads.evaluate = graphed(self._heads.evaluate, ())

    def bootstrapped(self, next_values: Tensor) -> Tensor:
        """The critics' targets (batch, 1). A truncated episode goes on; a terminated one does not.

        Changes `next_values`.
        """
        rows = self.rows
        next_values -= rows.terminated * next_values
        return next_values.mul_(self.gamma).add_(rows.rewards)


AnyArguments = TypeVar("AnyArguments", bound=ContinuousControlArguments)
MakeLearner = Callable[[AnyArguments, int, ActionRange, torch.device], ContinuousLearner]


def train_by_replay(
    arguments: AnyArguments, session: Session, make_learner: MakeLearner[AnyArguments]
) -> None:
    choose_threads(arguments, default=CPU_THREADS)
    with session.environments() as envs:
        size, actions = vector_size(envs), ActionRange.of(envs.action_space)
        learner = make_learner(arguments, size, actions, session.device)
        learn_by_replay(arguments, session, envs, learner)


def learn_by_replay(
    arguments: ContinuousControlArguments,
    session: Session,
    envs: EnvBatch,
    learner: ContinuousLearner,
) -> None:
    """Act, store, learn: one update for each step of all environments."""
    observation_shape, action_shape = (vector_size(envs),), (learner.action_range.size,)
    buffer = ReplayBuffer(
        arguments.buffer_size,
        observation_shape,
        np.float32,
        action_shape,
        np.float32,
        envs.num_envs,
    )
    envs.reset(arguments.seed)
    session.keep(learner.model(), buffer=buffer, envs=envs, **learner.parts())
    record_graphs_if_wanted(learner.record_graphs, session)
    observations = envs.observations
    while session.goes_on():
        is_random = session.global_step < arguments.learning_starts
        is_learning = session.global_step > arguments.learning_starts
        iteration = session.global_step // envs.num_envs
        if is_random:
            actions = learner.action_range.random(envs.num_envs, session.rng)
        else:
            actions = learner.explore(observations, session.rng)
        step = envs.step(actions)
        buffer.add(observations, step.next_observations(), actions, step.rewards, step.terminated)
        observations = step.observations
        if is_learning:
            learner.update(buffer.sample(arguments.batch_size, session.rng), iteration)
        session.global_step += envs.num_envs
        if step.episodes:
            session.record_episodes(step.episodes)
        if is_learning and iteration % LOG_INTERVAL == 0:
            session.record(learner.figures())
        elif iteration % SIGN_OF_LIFE == 0:
            session.record({})
        session.checkpoint_if_due()


def vector_size(envs: EnvBatch) -> int:
    shape = envs.observation_space.shape
    if shape is None or len(shape) != 1:
        raise ConfigError(
            f"Observations must be vectors; these are {envs.observation_space}",
            hint="ppo and dqn take images, too",
            field="env_id",
        )
    return int(shape[0])
