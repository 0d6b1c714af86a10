"""The exact value of a policy, and the best there is: dynamic programming on a world's own table.

Returns of episodes are luck; these are not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spade_bdi_rl_worker.learning.errors import WorldError
from spade_bdi_rl_worker.learning.kernels import Floats
from spade_bdi_rl_worker.learning.transitions import TransitionTable
from spade_bdi_rl_worker.learning.world import World

_TOLERANCE = 1e-12
_MOST_SWEEPS = 1_000_000


def exact_value(
    world: World, policy: NDArray[Any], discount: float = 1.0, limit: int | None = None
) -> float:
    """Expected return of an episode, over its beginnings.

    `policy`: an action per state, or the probabilities of all actions per state. `limit`: steps
    of an episode; without one the environment's own. Where there is none either: -inf (or inf)
    for a policy that may go on collecting for ever. Raises WorldError for a world without a table.
    """
    table = _table(world)
    chances = _as_probabilities(policy, table)
    steps, rewards = _under(table, chances)
    limit = world.limit if limit is None else limit
    if limit is not None:
        values = np.zeros(table.n_states)
        for _ in range(limit):
            values = rewards + discount * (steps @ values)
    else:
        values = _without_limit(table, steps, rewards, chances, discount)
    reachable = table.start > 0.0
    return float(table.start[reachable] @ values[reachable])


def optimal_value(world: World, limit: int | None = None, discount: float = 1.0) -> float:
    """Of the best policy, which may look at how many steps are left."""
    table = _table(world)
    limit = world.limit if limit is None else limit
    values = np.zeros(table.n_states)
    for _ in range(_MOST_SWEEPS if limit is None else limit):
        better = action_values(table, values, discount).max(axis=1)
        is_settled = limit is None and float(np.abs(better - values).max()) < _TOLERANCE
        values = better
        if is_settled:
            break
    return float(table.start @ values)


def optimal_policy(world: World, discount: float) -> NDArray[np.int64]:
    """The best that looks at the state only, for episodes without a limit; `discount` below 1."""
    table = _table(world)
    values = np.zeros(table.n_states)
    for _ in range(_MOST_SWEEPS):
        better = action_values(table, values, discount).max(axis=1)
        if float(np.abs(better - values).max()) < _TOLERANCE:
            break
        values = better
    best: NDArray[np.int64] = np.argmax(action_values(table, values, discount), axis=1)
    return best


def action_values(table: TransitionTable, values: Floats, discount: float) -> Floats:
    following = np.where(table.ends, 0.0, values[table.next_states])
    found: Floats = (table.probabilities * (table.rewards + discount * following)).sum(axis=2)
    return found


def _table(world: World) -> TransitionTable:
    if world.table is None:
        raise WorldError(
            f"'env_id': {world.env_id} has no table of transitions to compute exact values from",
            hint="play episodes to estimate the value",
            field="env_id",
        )
    return world.table


def _as_probabilities(policy: NDArray[Any], table: TransitionTable) -> Floats:
    shape = (table.n_states, table.n_actions)
    given = np.asarray(policy)
    if given.shape == shape and np.allclose(given.sum(axis=1), 1.0) and (given >= 0.0).all():
        return given.astype(np.float64)
    is_actions = given.shape == shape[:1] and given.dtype.kind in "iu"
    if not is_actions or ((given < 0) | (given >= shape[1])).any():
        raise WorldError(
            f"'policy' does not fit {shape[0]} states and {shape[1]} actions",
            hint="an action per state, or the probabilities of all actions per state",
            field="policy",
        )
    chances = np.zeros(shape)
    chances[np.arange(shape[0]), given] = 1.0
    return chances


def _under(table: TransitionTable, chances: Floats) -> tuple[Floats, Floats]:
    """Probabilities of going on from each state to each, and expected rewards."""
    weights = chances[:, :, None] * table.probabilities
    rewards: Floats = (weights * table.rewards).sum(axis=(1, 2))
    steps = np.zeros((table.n_states, table.n_states))
    origins = np.broadcast_to(np.arange(table.n_states)[:, None, None], weights.shape)
    goes_on = np.where(table.ends, 0.0, weights)
    np.add.at(steps, (origins.ravel(), table.next_states.ravel()), goes_on.ravel())
    return steps, rewards


def _without_limit(
    table: TransitionTable, steps: Floats, rewards: Floats, chances: Floats, discount: float
) -> Floats:
    if discount < 1.0:
        return np.linalg.solve(np.eye(len(steps)) - discount * steps, rewards).astype(np.float64)
    may_end = _leading_to(
        (chances[:, :, None] * table.probabilities * table.ends).sum(axis=(1, 2)) > 0.0, steps
    )
    values: Floats = np.zeros(len(steps))
    endless = ~may_end  # no way leads from there to an end: what is collected is without bound
    if (rewards[endless] != 0.0).any():
        lost = bool((rewards[endless] < 0.0).any())
        endless = _leading_to(endless, steps)
        values[endless] = -math.inf if lost else math.inf
    rest = ~endless
    inside = steps[np.ix_(rest, rest)]
    values[rest] = np.linalg.solve(np.eye(len(inside)) - inside, rewards[rest])
    return values


def _leading_to(states: NDArray[np.bool_], steps: Floats) -> NDArray[np.bool_]:
    """These states and all from which one of them can be reached."""
    while True:
        more = states | (steps[:, states] > 0.0).any(axis=1)
        if (more == states).all():
            return states
        states = more
