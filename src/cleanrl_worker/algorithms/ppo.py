"""PPO: proximal policy optimisation (Schulman 2017), and RPO (Rahman 2022) by `rpo_alpha`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.agents.actor_critic import ActorCritic, DiscreteActorCritic
from cleanrl_worker.agents.choice import make_actor_critic
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.algorithms.advantages import (
    explained_variance,
    generalized_advantages,
    minibatch_bounds,
)
from cleanrl_worker.algorithms.ppo_torch import TorchLearner, TorchPolicy
from cleanrl_worker.analytic.ppo_distributions import ActionDistribution, Actions
from cleanrl_worker.analytic.ppo_learner import DenseLearner
from cleanrl_worker.analytic.ppo_policy import DensePolicy, MirroredPolicy
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.arguments import RolloutArguments
from cleanrl_worker.kit.flat_adam import FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters
from cleanrl_worker.kit.gpu_rollout import GpuRollout
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.normalizers import NormalizingBatch
from cleanrl_worker.kit.rollout import Rollout, RolloutBatch
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from cleanrl_worker.kit.standalone import run_alone
from mosaic.worker import ConfigError, option

Array = NDArray[np.float32]

ADAM_EPSILON = 1e-5


@dataclass(frozen=True)
class ClippedArguments(RolloutArguments):
    """PPO's hyperparameters with any network."""

    gae_lambda: float = option(0.95, help="how far advantages look ahead", minimum=0.0, maximum=1.0)
    norm_adv: bool = option(True, help="normalise the advantages of each minibatch")
    clip_coef: float = option(0.2, help="how far an update may change a probability", minimum=0.0)
    clip_vloss: bool = option(True, help="clip the change of the values too")
    ent_coef: float = option(0.01, help="weight of the policy's entropy", minimum=0.0)
    vf_coef: float = option(0.5, help="weight of the value loss", minimum=0.0)
    max_grad_norm: float = option(0.5, help="longer gradients are scaled down to it", minimum=0.0)
    target_kl: float | None = option(
        None, help="end an update early when the policy moved further than this", minimum=0.0
    )


@dataclass(frozen=True)
class PPOArguments(ClippedArguments):
    network: Literal["auto", "towers", "mlp", "minigrid", "nature_cnn"] = option(
        "auto", help="auto chooses by the observations"
    )
    normalize_observations: bool = option(False, help="scale by their running mean and spread")
    normalize_rewards: bool = option(False, help="scale by the running spread of the returns")
    rpo_alpha: float = option(
        0.0, help="RPO: largest random shift of the means while learning; 0 is off", minimum=0.0
    )


ARGUMENTS = PPOArguments


def train(arguments: PPOArguments, session: Session) -> None:
    with session.environments() as plain:
        envs = normalizing(plain, arguments)
        agent = make_actor_critic(envs.observation_space, envs.action_space, arguments.network)
        agent.to(session.device)
        if arguments.rpo_alpha > 0.0 and isinstance(agent, DiscreteActorCritic):
            raise ConfigError("RPO needs continuous actions", hint="set it to 0", field="rpo_alpha")
        flat = FlatParameters(agent)
        optimizer = FlatAdam(flat, arguments.learning_rate, ADAM_EPSILON)
        policy, learner = make_back_end(agent, flat, optimizer, arguments, session)
        envs.reset(arguments.seed)
        session.keep(ModelFile(agent), optimizer=optimizer, envs=envs)
        rollout = make_rollout(arguments, session, envs, policy)
        with np.errstate(over="ignore", invalid="ignore"):  # `record` refuses what is not finite
            while session.goes_on():
                rate = arguments.rate_at(session.global_step)
                optimizer.set_learning_rate(rate)
                play(arguments, session, envs, policy, rollout)
                batch = judge(rollout, policy, arguments.gamma, arguments.gae_lambda)
                figures = learn(arguments, session.rng, learner, batch)
                variance = explained_variance(batch.values, batch.returns)
                session.record(
                    {
                        "charts/learning_rate": rate,
                        **figures,
                        "losses/explained_variance": variance,
                    }
                )
                session.checkpoint_if_due()


def normalizing(envs: EnvBatch, arguments: PPOArguments) -> EnvBatch:
    if not (arguments.normalize_observations or arguments.normalize_rewards):
        return envs
    return NormalizingBatch(
        envs,
        observations=arguments.normalize_observations,
        rewards=arguments.normalize_rewards,
        gamma=arguments.gamma,
    )


class Policy(Protocol):
    """Acts, and says afterwards what it thinks of a rollout.

    Observations are arrays, or what a GpuRollout gives.
    """

    distribution: ActionDistribution

    def start_rollout(self, rows: int) -> None:
        """The weights will not change now, and there are so many environments."""

    def act(self, observations: Any, noise: Array) -> Actions: ...

    def judge(self, observations: Any) -> tuple[Array, Array]:
        """Outputs of the policy and values, for many rows at once."""


class Learner(Protocol):
    """`load` a rollout; for each epoch `start_epoch`, then `learn` slices of it."""

    def load(self, batch: RolloutBatch) -> None: ...

    def start_epoch(self, order: NDArray[np.int64], shift: Array | None) -> None:
        """`order` shuffles the rows; `shift` is taken from the actions."""

    def learn(self, start: int, end: int) -> None:
        """One step of the optimiser."""

    def approximate_kl(self) -> float:
        """How far the policy moved, by the last minibatch."""

    def figures(self) -> dict[str, float]:
        """The last minibatch's losses, named as CleanRL's."""


def make_back_end(
    agent: ActorCritic,
    flat: FlatParameters,
    optimizer: FlatAdam,
    arguments: PPOArguments,
    session: Session,
) -> tuple[Policy, Learner]:
    """Towers act in numpy everywhere and learn in numpy on a CPU; all else is torch's."""
    if isinstance(agent, DiscreteTowers | ContinuousTowers):
        choose_threads(arguments, default=1)
        if session.device.type == "cpu":
            policy = DensePolicy(agent)
            return policy, DenseLearner(policy, flat, optimizer, arguments)
        mirror = MirroredPolicy(agent, flat)
        return mirror, TorchLearner(agent, flat, optimizer, arguments, session)
    assert isinstance(agent, DiscreteActorCritic)
    choose_threads(arguments, default=2)
    learner = TorchLearner(agent, flat, optimizer, arguments, session)
    return TorchPolicy(agent, arguments, session), learner


def make_rollout(
    arguments: PPOArguments, session: Session, envs: EnvBatch, policy: Policy
) -> Rollout:
    if session.device.type == "cuda" and isinstance(policy, TorchPolicy):
        return GpuRollout(arguments.num_steps, envs, session.device)
    return Rollout(arguments.num_steps, envs)


def play(
    arguments: PPOArguments, session: Session, envs: EnvBatch, policy: Policy, rollout: Rollout
) -> None:
    """Let all environments take their steps, and store them."""
    steps = arguments.rollout_steps(session.global_step)
    noise = policy.distribution.draw_noise(session.rng, steps, envs.num_envs)
    action_shape = (envs.num_envs, *(envs.action_space.shape or ()))
    policy.start_rollout(envs.num_envs)
    rollout.start(envs.observations)
    for index in range(steps):
        actions = policy.act(rollout.seen(index), noise[index])
        step = envs.step(actions.reshape(action_shape))
        rollout.add(actions, step)
        session.global_step += envs.num_envs
        if step.episodes:
            session.record_episodes(step.episodes)


def judge(rollout: Rollout, policy: Policy, gamma: float, gae_lambda: float) -> RolloutBatch:
    """Log-probabilities, values and advantages of the whole rollout, computed in one go."""
    steps, num_envs = rollout.steps, rollout.rewards.shape[1]
    rows = steps * num_envs
    observations = rollout.all_seen()
    actions = rollout.actions[:steps].reshape(rows, *rollout.actions.shape[2:])
    outputs, all_values = policy.judge(observations)
    log_probabilities = policy.distribution.log_probabilities(outputs[:rows], actions)
    values, next_values = all_values[:rows], all_values[num_envs:].reshape(steps, num_envs).copy()
    if rollout.cut_off:
        at_steps, at_envs, finals = zip(*rollout.cut_off, strict=True)
        next_values[at_steps, at_envs] = policy.judge(rollout.typed(finals))[1]
    advantages = generalized_advantages(
        rollout.rewards[:steps],
        values.reshape(steps, num_envs),
        next_values,
        rollout.terminated[:steps],
        rollout.ended[:steps],
        gamma,
        gae_lambda,
    ).reshape(rows)
    return RolloutBatch(
        observations[:rows], actions, log_probabilities, advantages, advantages + values, values
    )


def learn(
    arguments: PPOArguments, rng: np.random.Generator, learner: Learner, batch: RolloutBatch
) -> dict[str, float]:
    """Several epochs of minibatches over one rollout."""
    rows = len(batch.actions)
    bounds = minibatch_bounds(rows, arguments.num_minibatches, arguments.batch_size)
    learner.load(batch)
    for _ in range(arguments.update_epochs):
        shift = None
        if arguments.rpo_alpha > 0.0:
            # Shifting the means by z is shifting the actions by -z: the learners need not know.
            shift = rng.random(batch.actions.shape, dtype=np.float32)
            shift = (2.0 * shift - 1.0) * np.float32(arguments.rpo_alpha)
        learner.start_epoch(rng.permutation(rows), shift)
        for start, end in pairwise(bounds):
            learner.learn(start, end)
        if arguments.target_kl is not None and learner.approximate_kl() > arguments.target_kl:
            break
    return learner.figures()


if __name__ == "__main__":
    run_alone("ppo")
