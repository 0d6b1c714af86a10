"""DenseLearner: PPO's clipped loss, its gradient derived by hand, for towers on a CPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.analytic.dense_network import Array
from cleanrl_worker.analytic.ppo_policy import DensePolicy
from cleanrl_worker.kit.flat_adam import FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters
from cleanrl_worker.kit.rollout import RolloutBatch

if TYPE_CHECKING:
    from cleanrl_worker.algorithms.ppo import ClippedArguments


class DenseLearner:
    def __init__(
        self,
        policy: DensePolicy,
        flat: FlatParameters,
        optimizer: FlatAdam,
        arguments: ClippedArguments,
    ) -> None:
        self.policy = policy
        self.flat = flat
        self.optimizer = optimizer
        self.arguments = arguments
        self.lowest_ratio = np.float32(1.0 - arguments.clip_coef)
        self.highest_ratio = np.float32(1.0 + arguments.clip_coef)
        self.batch: Any = None
        self.epoch: Any = None  # the batch in the order of the epoch
        # What the figures of the last minibatch are made of.
        self.log_ratio = self.ratio = self.gain = self.clipped_gain = self.value_losses = np.zeros(
            1, np.float32
        )
        self.clipped_rows = self.seen_rows = 0

    def load(self, batch: RolloutBatch) -> None:
        self.batch = batch
        self.clipped_rows = self.seen_rows = 0

    def start_epoch(self, order: NDArray[np.int64], shift: Array | None) -> None:
        """Gather once, so that minibatches are slices."""
        batch = self.batch
        if shift is not None:
            batch = batch._replace(actions=batch.actions - shift)
        self.epoch = RolloutBatch(*[field.take(order, 0) for field in batch])

    def learn(self, start: int, end: int) -> None:
        """One step of the optimiser on these rows of the epoch."""
        batch = RolloutBatch(*[field[start:end] for field in self.epoch])
        policy = self.policy
        output = policy.actor.forward(batch.observations)
        log_ratio = policy.distribution.log_probabilities(output, batch.actions)
        log_ratio -= batch.log_probabilities
        d_log_probabilities = self.policy_gradient(log_ratio, batch.advantages)
        policy.actor.backward(
            policy.distribution.backward(d_log_probabilities, -self.arguments.ent_coef)
        )
        d_values = self.value_gradient(policy.values(batch.observations), batch)
        policy.critic.backward(d_values[:, None])
        self.flat.clip_gradient_array(self.arguments.max_grad_norm)
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

    def figures(self) -> dict[str, float]:
        """The last minibatch's losses, named as CleanRL's."""
        return {
            "losses/value_loss": 0.5 * float(self.value_losses.mean()),
            "losses/policy_loss": -float(np.minimum(self.gain, self.clipped_gain).mean()),
            "losses/entropy": self.policy.distribution.mean_entropy(),
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
