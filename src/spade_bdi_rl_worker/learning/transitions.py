"""An environment's own table of transitions (`env.unwrapped.P`), as arrays; and whether it is true.

Gymnasium's toy texts have one. What else an environment does in `step` is not in it, so it is
used only where playing by it and stepping the environment come to the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spade_bdi_rl_worker.learning import kernels
from spade_bdi_rl_worker.learning.errors import WorldError
from spade_bdi_rl_worker.learning.kernels import Floats, Integers

_COMPARED_EPISODES, _COMPARED_STEPS = 20, 1000
_MOST_OUTCOMES = 50_000_000


@dataclass(frozen=True, eq=False)
class TransitionTable:
    """Arrays by state, action and outcome; an outcome that is none has the probability 0."""

    probabilities: Floats
    next_states: Integers
    rewards: Floats
    ends: Any  # of bool
    start: Floats  # by state
    moves: kernels.Moves  # the same, made for drawing from it

    @property
    def n_states(self) -> int:
        return len(self.probabilities)

    @property
    def n_actions(self) -> int:
        return len(self.probabilities[0])


def read_table(core: Any, limit: int | None) -> TransitionTable | None:
    """Of an unwrapped environment; None when it has none. Raises WorldError for a false one."""
    table, start = getattr(core, "P", None), getattr(core, "initial_state_distrib", None)
    if not isinstance(table, Mapping) or start is None or not hasattr(core, "s"):
        return None
    if getattr(core, "fickle_passenger", False):  # Taxi's passenger changes its mind behind it
        return None
    try:
        states, actions = len(table), len(table[0])
        most = max(len(table[s][a]) for s in range(states) for a in range(actions))
        if states * actions * most > _MOST_OUTCOMES:
            return None
        return _to_arrays(
            table, np.asarray(start, dtype=np.float64), (states, actions, most), limit
        )
    except (LookupError, TypeError, ValueError, OverflowError):
        return None  # shaped in some other way


def _to_arrays(
    table: Mapping[int, Any], start: Floats, shape: tuple[int, int, int], limit: int | None
) -> TransitionTable:
    probabilities, rewards = np.zeros(shape), np.zeros(shape)
    cumulative = np.full(shape, -1.0)
    next_states, ends = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
    for state in range(shape[0]):
        for action in range(shape[1]):
            outcomes = table[state][action]
            chances = [outcome[0] for outcome in outcomes]
            cumulative[state, action, : len(chances)] = np.cumsum(np.asarray(chances))
            for index, (chance, following, reward, ended) in enumerate(outcomes):
                probabilities[state, action, index] = chance
                next_states[state, action, index] = following
                rewards[state, action, index] = reward
                ends[state, action, index] = ended
    _refuse_false(probabilities, next_states, rewards, start)
    begins = np.flatnonzero(start > 0.0)
    moves = kernels.Moves(
        cumulative,
        next_states,
        rewards,
        ends,
        begins.astype(np.int64),
        np.cumsum(start)[begins],
        limit or 0,
    )
    return TransitionTable(probabilities, next_states, rewards, ends, start, moves)


def _refuse_false(
    probabilities: Floats, next_states: Integers, rewards: Floats, start: Floats
) -> None:
    problem = ""
    sums = probabilities.sum(axis=2)
    if not (probabilities >= 0.0).all() or not np.allclose(sums, 1.0, atol=1e-9):
        problem = "the probabilities of its transitions are not from 0 to 1, or do not add up to 1"
    elif start.shape != (len(probabilities),) or not np.isclose(start.sum(), 1.0):
        problem = "it says in no way where an episode begins"
    elif (next_states < 0).any() or (next_states >= len(probabilities)).any():
        problem = "its transitions lead to states that it does not have"
    elif not np.isfinite(rewards).all():
        problem = "its rewards are not all finite numbers"
    if problem:
        raise WorldError(
            f"'env_kwargs' make an environment whose table is wrong: {problem}",
            hint="check its probabilities and rewards",
            field="env_kwargs",
        )


def is_true(table: TransitionTable, env: Any, seed: int = 0) -> bool:
    """Whether stepping the environment comes to what its table says, as far as some episodes tell.

    Leaves the environment somewhere: it is to be reset with a seed before it is used.
    """
    actions = np.random.default_rng(seed)
    env.reset(seed=seed)
    if type(env.unwrapped.np_random.bit_generator) is not np.random.PCG64:
        return False  # others cannot be drawn from beforehand
    twin = np.random.Generator(np.random.PCG64())
    twin.bit_generator.state = env.unwrapped.np_random.bit_generator.state
    steps = 0
    for _ in range(_COMPARED_EPISODES):
        state, _ = env.reset()
        if state != kernels.start_of(table.moves, twin.random()):
            return False
        ended, elapsed = False, 0
        while not ended and steps < _COMPARED_STEPS:
            action = int(actions.integers(table.n_actions))
            place = (state, action, kernels.outcome_of(table.moves, state, action, twin.random()))
            state, reward, terminated, truncated, _ = env.step(action)
            steps, elapsed = steps + 1, elapsed + 1
            expected = (table.next_states[place], table.rewards[place], bool(table.ends[place]))
            if (state, float(reward), bool(terminated)) != expected:
                return False
            if bool(truncated) != (table.moves.limit > 0 and elapsed >= table.moves.limit):
                return False
            ended = terminated or truncated
    return bool(twin.bit_generator.state == env.unwrapped.np_random.bit_generator.state)
