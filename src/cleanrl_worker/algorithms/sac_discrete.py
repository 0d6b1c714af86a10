"""SAC for actions that can be counted: expectations in place of samples (Christodoulou 2019)."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
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
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.kit.arguments import MAX_TIMESTEPS, Arguments
from cleanrl_worker.kit.cuda_graph import graphed
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
FIGURES = ("qf1_values", "qf2_values", "qf1_loss", "qf2_loss", "qf_loss", "actor_loss", "alpha")


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
    envs = make_env_batch(
        arguments.env_id,
        arguments.num_envs,
        env_kwargs=arguments.env_kwargs,
        vectorization=arguments.vectorization,
        video_directory=session.video_directory,
    )
    try:
        learner = DiscreteSACLearner(arguments, *spaces_of(envs), session.device)
        learn_by_replay(arguments, session, envs, learner)
    finally:
        envs.close()


def learn_by_replay(
    arguments: SACDiscreteArguments, session: Session, envs: EnvBatch, learner: DiscreteSACLearner
) -> None:
    """Act, store, and learn every few steps."""
    shape, num_actions = spaces_of(envs)
    make_buffer = FrameReplayBuffer if learner.actor.inputs.has_frames else ReplayBuffer
    buffer = make_buffer(
        arguments.buffer_size, shape, envs.observation_space.dtype, (), np.int64, envs.num_envs
    )
    envs.reset(arguments.seed)
    session.keep(ModelFile(learner.actor), buffer=buffer, envs=envs, **learner.parts())
    if session.device.type == "cuda" and arguments.compile:
        record_graphs_or_say_why(learner, buffer, envs, session)
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
        ...
        session.checkpoint_if_due()
