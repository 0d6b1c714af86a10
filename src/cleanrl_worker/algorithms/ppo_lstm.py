"""PPO from single frames with an LSTM as memory; minibatches are whole environments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.agents.action_distributions import Actions
from cleanrl_worker.agents.choice import FRAME_SIZE
from cleanrl_worker.agents.lstm import LSTMAgent, Memory
from cleanrl_worker.arguments import RolloutArguments
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
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


@dataclass(frozen=True)
class PPOLSTMArguments(RolloutArguments):
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


ARGUMENTS = PPOLSTMArguments


def train(arguments: PPOLSTMArguments, session: Session) -> None:
    with session.environments(frame_stack=1) as envs:
        choose_threads(arguments, default=2)
        agent = make_agent(envs).to(session.device)
        optimizer = FlatAdam(FlatParameters(agent), arguments.learning_rate, ADAM_EPSILON)
        policy = RecurrentPolicy(agent, envs.num_envs)
        learner = RecurrentLearner(agent, optimizer, arguments)
        envs.reset(arguments.seed)
        session.register(ModelFile(agent), optimizer=optimizer, envs=envs, memory=policy)
        if arguments.compile:
            session.note("compile has no effect here: the spans between episode starts vary")
        rollout = RecurrentRollout(arguments.num_steps, envs, agent.num_actions)
        while session.should_continue():
            rate = arguments.rate_at(session.global_step)
            optimizer.set_learning_rate(rate)
            play(arguments, session, envs, policy, rollout)
            batch = compute_advantages(rollout, policy, arguments.gamma, arguments.gae_lambda)
            metrics = learn(arguments, session.rng, learner, batch, rollout)
            variance = explained_variance(batch.values, batch.returns)
            session.record(
                {"charts/learning_rate": rate, **metrics, "losses/explained_variance": variance}
            )
            session.checkpoint_if_due()


def make_agent(envs: EnvBatch) -> LSTMAgent:
    shape, actions = envs.observation_space.shape, envs.action_space
    if shape is None or shape[1:] != FRAME_SIZE or not isinstance(actions, spaces.Discrete):
        raise ConfigError(
            f"The LSTM agent needs frames of 84x84 and discrete actions, not observations of shape"
            f" {shape} and {actions}",
            hint="choose an Atari game",
            field="env_id",
        )
    return LSTMAgent(shape[0], int(actions.n))


class RecurrentPolicy:
    """The agent with what it remembers of the episodes under way."""

    def __init__(self, agent: LSTMAgent, num_envs: int) -> None:
        self.agent = agent
        self.distribution = agent.action_distribution()
        self.memory: Memory = agent.initial_memory(num_envs)
        self.starts = np.ones(num_envs, np.bool_)  # whose observation begins an episode
        self.device = self.memory[0].device

    def act(self, observations: NDArray[Any], noise: Array) -> tuple[Actions, Array, Array]:
        """Actions, logits and values; the memory moves on."""
        logits, values, self.memory = self.run(observations, self.memory, self.starts)
        return self.distribution.sample(logits, noise), logits, values

    def values(self, observations: NDArray[Any]) -> Array:
        """Of what is seen now, remembering nothing of it."""
        return self.run(observations, self.memory, self.starts)[1]

    def final_value(self, env: int, observation: NDArray[Any]) -> float:
        """Of the last observation of this environment's episode, before its memory is wiped."""
        own = (self.memory[0][:, env : env + 1], self.memory[1][:, env : env + 1])
        return float(self.run(observation[None], own, np.zeros(1, np.bool_))[1][0])

    @torch.no_grad()
    def run(
        self, observations: NDArray[Any], memory: Memory, starts: NDArray[np.bool_]
    ) -> tuple[Array, Array, Memory]:
        rows = torch.from_numpy(observations[None]).to(self.device)
        marks = torch.from_numpy(starts[None]).to(self.device)
        logits, values, memory = self.agent.policy_and_value(rows, memory, marks)
        return logits.cpu().numpy(), values.cpu().numpy(), memory

    def state_dict(self) -> dict[str, Any]:
        return {"hidden": self.memory[0], "cell": self.memory[1], "starts": self.starts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.memory = (state["hidden"].to(self.device), state["cell"].to(self.device))
        self.starts = np.asarray(state["starts"], np.bool_)


class RecurrentRollout(Rollout):
    """Keeps what the policy said step by step: asking again would need its memory of then."""

    def __init__(self, num_steps: int, envs: EnvBatch, num_actions: int) -> None:
        super().__init__(num_steps, envs)
        self.memory: Any = None  # before the first step
        self.starts = np.zeros_like(self.ended)
        self.logits = np.zeros((*self.ended.shape, num_actions), np.float32)
        self.values = np.zeros_like(self.rewards)
        self.final_values = np.zeros_like(self.rewards)  # where an episode was cut off


def play(
    arguments: PPOLSTMArguments,
    session: Session,
    envs: EnvBatch,
    policy: RecurrentPolicy,
    rollout: RecurrentRollout,
) -> None:
    """Let all environments take their steps, and store them."""
    steps = arguments.rollout_steps(session.global_step)
    noise = policy.distribution.draw_noise(session.rng, steps, envs.num_envs)
    rollout.start(envs.observations)
    rollout.memory = policy.memory
    for index in range(steps):
        rollout.starts[index] = policy.starts
        actions, logits, values = policy.act(rollout.observations[index], noise[index])
        rollout.logits[index], rollout.values[index] = logits, values
        step = envs.step(actions)
        rollout.add(actions, step)
        for at, env, final in rollout.cut_off:
            if at == index:
                rollout.final_values[index, env] = policy.final_value(env, final)
        policy.starts = rollout.ended[index].copy()
        session.global_step += envs.num_envs
        if step.episodes:
            session.record_episodes(step.episodes)


def compute_advantages(
    rollout: RecurrentRollout, policy: RecurrentPolicy, gamma: float, gae_lambda: float
) -> RolloutBatch:
    """The rollout with log-probabilities and advantages; arrays are (steps, envs, ...)."""
    steps = rollout.steps
    values, actions, ended = rollout.values[:steps], rollout.actions[:steps], rollout.ended[:steps]
    terminated = rollout.terminated[:steps]
    last_values = policy.values(rollout.observations[steps])
    next_values = np.concatenate((values[1:], last_values[None]))
    np.copyto(next_values, rollout.final_values[:steps], where=ended & ~terminated)
    advantages = generalized_advantages(
        rollout.rewards[:steps], values, next_values, terminated, ended, gamma, gae_lambda
    )
    logits = rollout.logits[:steps].reshape(-1, policy.agent.num_actions)
    log_probabilities = policy.distribution.log_probabilities(logits, actions.reshape(-1))
    return RolloutBatch(
        rollout.observations[:steps],
        actions,
        log_probabilities.reshape(actions.shape),
        advantages,
        advantages + values,
        values,
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


def learn(
    arguments: PPOLSTMArguments,
    rng: np.random.Generator,
    learner: RecurrentLearner,
    batch: RolloutBatch,
    rollout: RecurrentRollout,
) -> dict[str, float]:
    """Several epochs; a minibatch holds all steps of some environments, so memory stays whole."""
    num_envs = arguments.num_envs
    bounds = minibatch_bounds(num_envs, arguments.num_minibatches, num_envs)
    learner.load(batch, rollout)
    for _ in range(arguments.update_epochs):
        order = rng.permutation(num_envs)
        for start, end in pairwise(bounds):
            learner.update(order[start:end])
        if arguments.target_kl is not None and learner.approximate_kl() > arguments.target_kl:
            break
    return learner.metrics()


def ppo_loss(
    agent: LSTMAgent,
    batch: TensorBatch,
    memory: Memory,
    starts: Tensor,
    arguments: PPOLSTMArguments,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of whole environments, and what a chart shows of it.

    Observations and `starts` are (steps, envs, ...), all else is rows in the same order.
    """
    output, values, _ = agent.policy_and_value(batch.observations, memory, starts)
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


class RecurrentLearner:
    """Learns in plain torch; there is no accelerator, as the spans between episodes vary."""

    def __init__(self, agent: LSTMAgent, optimizer: FlatAdam, arguments: PPOLSTMArguments) -> None:
        self.agent, self.optimizer, self.arguments = agent, optimizer, arguments
        self.device = optimizer.gradient.device
        self.batch: Any = None  # a TensorBatch of (steps, envs, ...)
        self.starts: Any = None
        self.memory: Any = None
        self.last_metrics: dict[str, Tensor] = {}
        self.clip_fractions: list[Tensor] = []

    def load(self, batch: RolloutBatch, rollout: RecurrentRollout) -> None:
        self.batch = TensorBatch(*[torch.from_numpy(field).to(self.device) for field in batch])
        self.starts = torch.from_numpy(rollout.starts[: rollout.steps]).to(self.device)
        self.memory = rollout.memory
        self.clip_fractions.clear()

    def update(self, env_numbers: NDArray[np.int64]) -> None:
        """One step of the optimiser on all steps of these environments."""
        envs = torch.from_numpy(env_numbers).to(self.device)
        observations, *others = [field.index_select(1, envs) for field in self.batch]
        memory = (self.memory[0].index_select(1, envs), self.memory[1].index_select(1, envs))
        starts = self.starts.index_select(1, envs)
        rows = TensorBatch(observations, *[field.flatten(0, 1) for field in others])
        loss, self.last_metrics = ppo_loss(self.agent, rows, memory, starts, self.arguments)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.flat.clip_gradient(self.arguments.max_grad_norm)
        self.optimizer.step()
        self.clip_fractions.append(self.last_metrics["losses/clipfrac"])

    def approximate_kl(self) -> float:
        return float(self.last_metrics["losses/approx_kl"])

    def metrics(self) -> dict[str, float]:
        last = {name: float(value) for name, value in self.last_metrics.items()}
        return {**last, "losses/clipfrac": float(torch.stack(self.clip_fractions).mean())}


if __name__ == "__main__":
    from cleanrl_worker.standalone import run_alone

    run_alone("ppo_atari_lstm")
