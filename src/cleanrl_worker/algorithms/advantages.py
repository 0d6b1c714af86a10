"""What a rollout says about its actions: advantages, and how to cut it into minibatches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


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


def backward_sums(terms: Array, decays: Array) -> Array:
    """sums[t] = terms[t] + decays[t] * sums[t + 1] along the first axis.

    Doubling spans instead of a loop over time: after each round a sum reaches twice as far.
    """
    sums, factors = terms.copy(), decays.copy()
    reach = 1
    while reach < len(terms):
        sums[:-reach] += factors[:-reach] * sums[reach:]
        factors[:-reach] *= factors[reach:]
        reach *= 2
    return sums


def explained_variance(values: Array, returns: Array) -> float:
    """1 when the values foresee the returns, 0 when they say nothing; 0 when all returns agree."""
    spread = float(returns.var())
    return 0.0 if spread == 0.0 else 1.0 - float((returns - values).var()) / spread


def minibatch_bounds(rows: int, num_minibatches: int, full_rows: int) -> list[int]:
    """Where the minibatches of a batch start and end: as even as can be.

    A batch shorter than the full one keeps the size of the minibatches rather than their number.
    """
    usual_size = max(1, full_rows // num_minibatches)
    count = min(num_minibatches, max(1, rows // usual_size))
    return [rows * index // count for index in range(count + 1)]
