"""PPO's clipped loss, its gradient derived by hand in numpy, for towers on a CPU."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.accelerators.dense_network import Array
from cleanrl_worker.accelerators.learners import RolloutLearner
from cleanrl_worker.accelerators.ppo_policy import NumpyPolicy, Towers
from cleanrl_worker.agents.actor_critic import ActorCritic
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.optimizers import FlatAdam
from cleanrl_worker.kit.rollout import Rollout, RolloutBatch
from cleanrl_worker.kit.session import Session


class ClippedLoss(Protocol):
    """The hyperparameters of PPO's loss."""

    @property
    def norm_adv(self) -> bool: ...
    @property
    def clip_coef(self) -> float: ...
    @property
    def clip_vloss(self) -> bool: ...
    @property
    def ent_coef(self) -> float: ...
    @property
    def vf_coef(self) -> float: ...
    @property
    def max_grad_norm(self) -> float: ...


def accelerated_ppo(
    agent: ActorCritic, optimizer: FlatAdam, loss: Any, arguments: Any, session: Session
) -> RolloutLearner | None:
    """Towers on a CPU in numpy, anything on a GPU with less waiting; None: nothing beats torch.

    `loss` is that of the algorithm's file, called with the agent, a TensorBatch and the arguments.
    """
    if not arguments.accelerate:
        return None
    if session.device.type == "cuda":
        from cleanrl_worker.accelerators.ppo_cuda import CudaPPO

        return CudaPPO(agent, optimizer, loss, arguments, session)
    if isinstance(agent, DiscreteTowers | ContinuousTowers):
        return NumpyPPO(agent, optimizer, arguments)
    return None


class NumpyPPO(NumpyPolicy):
    """`ppo_loss` of `algorithms/ppo.py`, differentiated by hand."""

    def __init__(self, agent: Towers, optimizer: FlatAdam, arguments: ClippedLoss) -> None:
        super().__init__(agent)
        self.optimizer = optimizer
        self.arguments = arguments
        self.lowest_ratio = np.float32(1.0 - arguments.clip_coef)
        self.highest_ratio = np.float32(1.0 + arguments.clip_coef)
        self.batch: Any = None
        self.epoch: Any = None  # the batch in the order of the epoch
        # What the metrics of the last minibatch are made of.
        self.log_ratio = self.ratio = self.gain = self.clipped_gain = self.value_losses = np.zeros(
            1, np.float32
        )
        self.clipped_rows = self.seen_rows = 0

    def new_rollout(self, num_steps: int, envs: EnvBatch) -> Rollout:
        return Rollout(num_steps, envs)

    def load(self, batch: RolloutBatch) -> None:
        self.batch = batch
        self.clipped_rows = self.seen_rows = 0

    def start_epoch(self, order: NDArray[np.int64], shift: Array | None) -> None:
        """Gather once, so that minibatches are slices."""
        batch = self.batch
        if shift is not None:
            batch = batch._replace(actions=batch.actions - shift)
        self.epoch = RolloutBatch(*[field.take(order, 0) for field in batch])

    def update(self, start: int, end: int) -> None:
        batch = RolloutBatch(*[field[start:end] for field in self.epoch])
        output = self.actor.forward(batch.observations)
        log_ratio = self.distribution.log_probabilities(output, batch.actions)
        log_ratio -= batch.log_probabilities
        d_log_probabilities = self.policy_gradient(log_ratio, batch.advantages)
        self.actor.backward(
            self.distribution.backward(d_log_probabilities, -self.arguments.ent_coef)
        )
        d_values = self.value_gradient(self.values(batch.observations), batch)
        self.critic.backward(d_values[:, None])
        self.optimizer.flat.clip_gradient_array(self.arguments.max_grad_norm)
        self.optimizer.step()

    def policy_gradient(self, log_ratio: Array, advantages: Array) -> Array:
        """Of the log-probabilities: minus the gain, where clipping leaves it free to grow."""
        if self.arguments.norm_adv:
            advantages = normalized(advantages)
        ratio = np.exp(log_ratio)
        clipped = np.maximum(ratio, self.lowest_ratio)
        np.minimum(clipped, self.highest_ratio, out=clipped)
        self.clipped_rows += int(np.count_nonzero(clipped != ratio))
        self.seen_rows += len(ratio)
        gain = ratio * advantages
        clipped *= advantages
        self.log_ratio, self.ratio, self.gain, self.clipped_gain = log_ratio, ratio, gain, clipped
        gradient: Array = gain * (gain <= clipped)
        gradient *= np.float32(-1.0 / len(gradient))
        return gradient

    def value_gradient(self, values: Array, batch: RolloutBatch) -> Array:
        """Of half the mean squared error; none where the clipped error is the larger one."""
        errors: Array = values - batch.returns
        self.value_losses = errors * errors
        if self.arguments.clip_vloss:
            limit = np.float32(self.arguments.clip_coef)
            moves = values - batch.values
            clipped = np.maximum(moves, -limit)
            np.minimum(clipped, limit, out=clipped)
            is_free = clipped == moves
            clipped += batch.values
            clipped -= batch.returns
            clipped *= clipped
            is_free |= self.value_losses >= clipped
            errors *= is_free
            np.maximum(self.value_losses, clipped, out=self.value_losses)
        errors *= np.float32(self.arguments.vf_coef / len(errors))
        return errors

    def approximate_kl(self) -> float:
        """Of the last minibatch, by the estimator without bias and with little variance."""
        return float((self.ratio - 1.0 - self.log_ratio).mean())

    def metrics(self) -> dict[str, float]:
        return {
            "losses/value_loss": 0.5 * float(self.value_losses.mean()),
            "losses/policy_loss": -float(np.minimum(self.gain, self.clipped_gain).mean()),
            "losses/entropy": self.distribution.mean_entropy(),
            "losses/old_approx_kl": -float(self.log_ratio.mean()),
            "losses/approx_kl": self.approximate_kl(),
            "losses/clipfrac": self.clipped_rows / self.seen_rows,
        }


def normalized(advantages: Array) -> Array:
    """With mean 0 and spread 1; a single row has no spread."""
    rows = len(advantages)
    centred: Array = advantages - np.add.reduce(advantages) / np.float32(rows)
    spread = math.sqrt(float(centred.dot(centred)) / max(1, rows - 1))
    centred *= np.float32(1.0 / (spread + 1e-8))
    return centred
