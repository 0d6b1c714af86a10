"""PPO: proximal policy optimisation (Schulman 2017), and RPO (Rahman 2022) by `rpo_alpha`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.accelerators.learners import RolloutLearner
from cleanrl_worker.accelerators.ppo import accelerated_ppo
from cleanrl_worker.agents.action_distributions import Actions
from cleanrl_worker.agents.actor_critic import ActorCritic, DiscreteActorCritic
from cleanrl_worker.agents.choice import make_actor_critic
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.arguments import RolloutArguments
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.normalizers import NormalizingBatch
from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters
from cleanrl_worker.kit.rollout import (
    Rollout,
    RolloutBatch,
    TensorBatch,
    backward_sums,
    explained_variance,
    minibatch_bounds,
)
from cleanrl_worker.kit.seeding import choose_threads
from cleanrl_worker.kit.session import Session
from mosaic.worker import ConfigError, option

Array = NDArray[np.float32]

ADAM_EPSILON = 1e-5
ROWS_AT_ONCE = 512  # of images, when a whole rollout is evaluated


@dataclass(frozen=True)
class PPOArguments(RolloutArguments):
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
    with session.environments() as raw_envs:
        envs = normalizing(raw_envs, arguments)
        agent = make_actor_critic(envs.observation_space, envs.action_space, arguments.network)
        agent.to(session.device)
        if arguments.rpo_alpha > 0.0 and isinstance(agent, DiscreteActorCritic):
            raise ConfigError("RPO needs continuous actions", hint="set it to 0", field="rpo_alpha")
        is_small = isinstance(agent, DiscreteTowers | ContinuousTowers)
        choose_threads(arguments, default=1 if is_small else 2)
        optimizer = FlatAdam(FlatParameters(agent), arguments.learning_rate, ADAM_EPSILON)
        envs.reset(arguments.seed)
        session.register(ModelFile(agent), optimizer=optimizer, envs=envs)
        learner = make_learner(agent, optimizer, arguments, session)
        rollout = learner.new_rollout(arguments.num_steps, envs)
        with np.errstate(over="ignore", invalid="ignore"):  # `record` refuses what is not finite
            while session.should_continue():
                rate = arguments.rate_at(session.global_step)
                optimizer.set_learning_rate(rate)
                play(arguments, session, envs, learner, rollout)
                batch = compute_advantages(rollout, learner, arguments.gamma, arguments.gae_lambda)
                metrics = learn(arguments, session.rng, learner, batch)
                variance = explained_variance(batch.values, batch.returns)
                session.record(
                    {
                        "charts/learning_rate": rate,
                        **metrics,
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


def make_learner(
    agent: ActorCritic, optimizer: FlatAdam, arguments: PPOArguments, session: Session
) -> RolloutLearner:
    """An accelerator where there is one for this network and device, else plain torch."""
    fast = accelerated_ppo(agent, optimizer, ppo_loss, arguments, session)
    return fast or PPOLearner(agent, optimizer, arguments)


# ---- acting ----------------------------------------------------------------------------------


def play(
    arguments: PPOArguments,
    session: Session,
    envs: EnvBatch,
    learner: RolloutLearner,
    rollout: Rollout,
) -> None:
    """Let all environments take their steps, and store them."""
    steps = arguments.rollout_steps(session.global_step)
    learner.start_rollout(envs.num_envs)
    noise = learner.distribution.draw_noise(session.rng, steps, envs.num_envs)
    action_shape = (envs.num_envs, *(envs.action_space.shape or ()))
    rollout.start(envs.observations)
    for index in range(steps):
        actions = learner.act(rollout.observations_at(index), noise[index])
        step = envs.step(actions.reshape(action_shape))
        rollout.add(actions, step)
        session.global_step += envs.num_envs
        if step.episodes:
            session.record_episodes(step.episodes)


def compute_advantages(
    rollout: Rollout, learner: RolloutLearner, gamma: float, gae_lambda: float
) -> RolloutBatch:
    """Log-probabilities, values and advantages of the whole rollout, computed in one go."""
    steps, num_envs = rollout.steps, rollout.rewards.shape[1]
    rows = steps * num_envs
    observations = rollout.all_observations()
    actions = rollout.actions[:steps].reshape(rows, *rollout.actions.shape[2:])
    outputs, all_values = learner.evaluate(observations)
    log_probabilities = learner.distribution.log_probabilities(outputs[:rows], actions)
    values, next_values = all_values[:rows], all_values[num_envs:].reshape(steps, num_envs).copy()
    if rollout.cut_off:
        at_steps, at_envs, finals = zip(*rollout.cut_off, strict=True)
        next_values[at_steps, at_envs] = learner.evaluate(rollout.as_rows(finals))[1]
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


def generalized_advantages(
    rewards: Array,
    values: Array,
    next_values: Array,
    terminated: NDArray[np.bool_],
    ended: NDArray[np.bool_],
    gamma: float,
    gae_lambda: float,
) -> Array:
    """GAE (Schulman 2016) over arrays of (steps, envs).

    `next_values` are those of the true successors, the last observation of an episode that was cut
    off included: only a terminated one has no value beyond its end. No advantage flows over an end.
    """
    deltas = next_values * np.float32(gamma)
    deltas *= ~terminated
    deltas += rewards
    deltas -= values
    return backward_sums(deltas, ~ended * np.float32(gamma * gae_lambda))


# ---- learning --------------------------------------------------------------------------------


def learn(
    arguments: PPOArguments, rng: np.random.Generator, learner: RolloutLearner, batch: RolloutBatch
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
            learner.update(start, end)
        if arguments.target_kl is not None and learner.approximate_kl() > arguments.target_kl:
            break
    return learner.metrics()


def ppo_loss(
    agent: ActorCritic, batch: TensorBatch, arguments: PPOArguments
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of a minibatch, and what a chart shows of it."""
    output, values = agent.policy_and_value(batch.observations)
    log_ratio = agent.log_probability(output, batch.actions) - batch.log_probabilities
    ratio = log_ratio.exp()
    clip = arguments.clip_coef

    advantages = normalized(batch.advantages) if arguments.norm_adv else batch.advantages
    gain = ratio * advantages
    policy_loss = -torch.minimum(gain, ratio.clamp(1.0 - clip, 1.0 + clip) * advantages).mean()

    errors = (values - batch.returns).square()
    if arguments.clip_vloss:
        clipped = batch.values + (values - batch.values).clamp(-clip, clip)
        errors = torch.maximum(errors, (clipped - batch.returns).square())
    value_loss = 0.5 * errors.mean()

    entropy = agent.entropy(output).mean()
    loss = policy_loss - arguments.ent_coef * entropy + arguments.vf_coef * value_loss
    with torch.no_grad():
        return loss, {
            "losses/value_loss": value_loss.detach(),
            "losses/policy_loss": policy_loss.detach(),
            "losses/entropy": entropy.detach(),
            "losses/old_approx_kl": -log_ratio.mean(),
            "losses/approx_kl": (ratio - 1.0 - log_ratio).mean(),
            "losses/clipfrac": ((ratio - 1.0).abs() > clip).to(torch.float32).mean(),
        }


def normalized(advantages: Tensor) -> Tensor:
    """With mean 0 and spread 1; a single row has no spread."""
    centred = advantages - advantages.mean()
    spread = (centred.square().sum() / max(1, len(centred) - 1)).sqrt()
    return centred / (spread + 1e-8)


class PPOLearner:
    """Acts, evaluates and learns in plain torch. What its methods promise is in RolloutLearner."""

    def __init__(self, agent: ActorCritic, optimizer: FlatAdam, arguments: PPOArguments) -> None:
        self.agent, self.optimizer, self.arguments = agent, optimizer, arguments
        self.device = optimizer.gradient.device
        self.distribution = agent.action_distribution()
        self.batch: Any = None  # a TensorBatch
        self.epoch: Any = None  # the same, its actions shifted
        self.order: Any = None
        self.last_metrics: dict[str, Tensor] = {}
        self.clip_fractions = torch.zeros((), device=self.device)
        self.updates = 0

    def new_rollout(self, num_steps: int, envs: EnvBatch) -> Rollout:
        return Rollout(num_steps, envs)

    def start_rollout(self, num_envs: int) -> None:
        self.distribution = self.agent.action_distribution()

    @torch.no_grad()
    def act(self, observations: Any, noise: Array) -> Actions:
        output = self.agent.policy(torch.from_numpy(observations).to(self.device))
        return self.distribution.sample(output.cpu().numpy(), noise)

    @torch.no_grad()
    def evaluate(self, observations: Any) -> tuple[Array, Array]:
        parts = [
            self.agent.policy_and_value(rows.to(self.device))
            for rows in torch.split(torch.from_numpy(observations), ROWS_AT_ONCE)
        ]
        outputs, values = zip(*parts, strict=True)
        return torch.cat(outputs).cpu().numpy(), torch.cat(values).cpu().numpy()

    def load(self, batch: RolloutBatch) -> None:
        self.batch = TensorBatch(*[torch.from_numpy(field).to(self.device) for field in batch])
        self.clip_fractions.zero_()
        self.updates = 0

    def start_epoch(self, order: NDArray[np.int64], shift: Array | None) -> None:
        self.order = torch.from_numpy(order).to(self.device)
        self.epoch = self.batch
        if shift is not None:
            actions = self.batch.actions - torch.from_numpy(shift).to(self.device)
            self.epoch = self.batch._replace(actions=actions)

    def update(self, start: int, end: int) -> None:
        rows = self.order[start:end]
        batch = TensorBatch(*[field.index_select(0, rows) for field in self.epoch])
        loss, self.last_metrics = ppo_loss(self.agent, batch, self.arguments)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.flat.clip_gradient(self.arguments.max_grad_norm)
        self.optimizer.step()
        self.clip_fractions += self.last_metrics["losses/clipfrac"]
        self.updates += 1

    def approximate_kl(self) -> float:
        return float(self.last_metrics["losses/approx_kl"])

    def metrics(self) -> dict[str, float]:
        last = {name: float(value) for name, value in self.last_metrics.items()}
        return {**last, "losses/clipfrac": float(self.clip_fractions) / self.updates}


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("ppo")
