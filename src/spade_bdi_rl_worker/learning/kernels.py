"""One step of learning and acting, and the loop over a transition table that is made of them.

All of it works on arrays in place. Compiled where numba is installed (see `compiling`), the same
functions in plain Python elsewhere; the loop that steps Gymnasium's environments calls them too.
So every way gives the same tables, bit for bit: the same random numbers in the same order, and
only operations that round the same everywhere (no `pow`, no `exp`). numba's kept files look at
one source file only, so everything compiled is in this one.

Random numbers: the environment draws from its own generator, as Gymnasium does. The learner takes
`numbers_per_step` of its generator's numbers for each step, whatever it does with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spade_bdi_rl_worker.learning.compiling import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# A number out of an array, or one of Python's: the kernels make no difference.
Real = Any
Whole = Any

Q_LEARNING, SARSA, EXPECTED_SARSA, DOUBLE_Q, Q_LAMBDA = range(5)


class Table(NamedTuple):
    """What is known of one goal: of the environment's own, or of one subgoal."""

    values: Floats  # [state, action]
    other: Floats  # the second table of double Q; [1, 1] elsewhere
    visits: Integers  # [state, action]: how often it was updated
    error_squares: Floats  # [state, action]: mean square of its latest errors
    traces: Floats  # of Q(λ), flat; [1] elsewhere
    traced: Integers  # which of them are not zero: the first `counts[TRACES]`
    counts: Integers


TRACES, TABLE_EPISODES = range(2)


class Rules(NamedTuple):
    """`LearningSettings` as numbers."""

    algorithm: int
    learning_rate: float
    final_learning_rate: float
    half_visits: float
    discount: float
    subgoal_discount: float
    epsilon: float
    final_epsilon: float
    anneal_episodes: int
    trace_decay: float
    draws: int  # `numbers_per_step` of the learner's generator


class Aim(NamedTuple):
    """A `Pursuit` as numbers."""

    target: int  # a state, or -1
    epsilon: float  # negative: the schedule's
    learns: int


class Moves(NamedTuple):
    """A `TransitionTable`: arrays by state, action and outcome; cumulative[…] is -1 behind them."""

    cumulative: Floats
    next_states: Integers
    rewards: Floats
    ends: NDArray[np.bool_]
    start_states: Integers
    start_cumulative: Floats
    limit: int  # steps of an episode; 0: none


# Where an agent is (`place`), and what it counts meanwhile (`sums`).
STATE, ELAPSED, NEXT_ACTION, IN_EPISODE, TARGET, FOLLOWING, REACHED, EPISODES, STEPS = range(9)
PLACES = 9
RETURN, ERROR_SUM, ERRORS, RANGE = range(4)
SUMS = 4
# Flags of how an episode ended, and of a step.
TERMINATED, TRUNCATED, HAS_REACHED, WAS_FOLLOWING = 1, 2, 4, 8
# Columns of recorded steps; of the reals, the values of the state's actions follow.
R_EPISODE, R_INDEX, R_STATE, R_ACTION, R_NEXT_STATE, R_FLAGS = range(6)
RECORDED_INTEGERS = 6
R_REWARD, R_CONFIDENCE, R_VALUES = range(3)

_FORGOTTEN = 1e-3  # a trace below it changes nothing that could be seen
_MEMORY_OF_ERRORS = 0.01  # the mean square of errors is that of about the last hundred
_TRUSTED_VISITS = 5.0  # after so many an action counts as half known
_NO_DIFFERENCE = 0.01  # of the table's range: actions as near as that are equally good


@compiled
def scheduled(first: float, last: float, over: int, episode: int) -> Real:
    if episode >= over:
        return last
    return first + (last - first) * (episode / over)


@compiled
def value(table: Table, algorithm: int, state: int, action: int) -> Real:
    if algorithm == DOUBLE_Q:
        return 0.5 * (table.values[state, action] + table.other[state, action])
    return table.values[state, action]


@compiled
def best_action(table: Table, algorithm: int, state: int) -> Whole:
    """The first of the best."""
    best = 0
    for action in range(1, table.values.shape[1]):
        if value(table, algorithm, state, action) > value(table, algorithm, state, best):
            best = action
    return best


@compiled
def choose(table: Table, algorithm: int, epsilon: float, state: int, number: float) -> Whole:
    """ε-greedy by one number of [0, 1); ties are broken by what is left of it."""
    actions = table.values.shape[1]
    if number < epsilon:
        return min(int(number / epsilon * actions), actions - 1)
    top = value(table, algorithm, state, 0)
    ties = 1
    for action in range(1, actions):
        this = value(table, algorithm, state, action)
        if this > top:
            top, ties = this, 1
        elif this == top:
            ties += 1
    chosen = 0
    if ties > 1:
        chosen = min(int((number - epsilon) / (1.0 - epsilon) * ties), ties - 1)
    for action in range(actions):
        if value(table, algorithm, state, action) == top:
            if chosen == 0:
                return action
            chosen -= 1
    return 0  # only for tables with NaN


@compiled
def step_size(rules: Rules, learning_rate: float, visits: int) -> Real:
    """Of the pair's next update: smaller the better it is known, never below the final rate."""
    if rules.half_visits > 0.0:
        slowed = learning_rate * (rules.half_visits / (rules.half_visits + visits))
        return max(slowed, min(rules.final_learning_rate, learning_rate))
    return learning_rate


@compiled
def expected_value(table: Table, epsilon: float, state: int) -> Real:
    """Of the ε-greedy policy."""
    actions = table.values.shape[1]
    top = table.values[state, 0]
    total = 0.0
    for action in range(actions):
        total += table.values[state, action]
        top = max(top, table.values[state, action])
    return epsilon * (total / actions) + (1.0 - epsilon) * top


@compiled
def clear_traces(table: Table) -> None:
    for index in range(table.counts[TRACES]):
        table.traces[table.traced[index]] = 0.0
    table.counts[TRACES] = 0


@compiled
def update_traced(
    table: Table, rules: Rules, learning_rate: float, discount: float, pair: int, error: float
) -> None:
    """Watkins's Q(λ) with replacing traces: everything on the way here learns from the error."""
    actions = table.values.shape[1]
    if table.traces[pair] == 0.0:
        table.traced[table.counts[TRACES]] = pair
        table.counts[TRACES] += 1
    table.traces[pair] = 1.0
    index = 0
    while index < table.counts[TRACES]:
        key = table.traced[index]
        state, action = key // actions, key % actions
        size = step_size(rules, learning_rate, table.visits[state, action])
        table.values[state, action] += size * error * table.traces[key]
        table.traces[key] *= discount * rules.trace_decay
        if table.traces[key] < _FORGOTTEN:
            table.traces[key] = 0.0
            table.counts[TRACES] -= 1
            table.traced[index] = table.traced[table.counts[TRACES]]
        else:
            index += 1


@compiled
def learn(
    table: Table,
    rules: Rules,
    rates: tuple[float, float],
    discount: float,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    next_action: int,
    ended: bool,
    coin: float,
) -> Real:
    """One update; returns the temporal-difference error. `rates`: learning rate and ε."""
    learning_rate, epsilon = rates
    algorithm = rules.algorithm
    is_other = algorithm == DOUBLE_Q and coin < 0.5  # the second table learns
    if algorithm == Q_LAMBDA:
        # An action that was not the best one: what follows says nothing about the way here.
        best = best_action(table, algorithm, state)
        if table.values[state, action] < table.values[state, best]:
            clear_traces(table)
    goal = reward
    if not ended:
        goal += discount * following_value(
            table, algorithm, epsilon, next_state, next_action, is_other
        )
    error = goal - (table.other[state, action] if is_other else table.values[state, action])
    size = step_size(rules, learning_rate, table.visits[state, action])
    table.visits[state, action] += 1
    weight = max(1.0 / table.visits[state, action], _MEMORY_OF_ERRORS)
    table.error_squares[state, action] += weight * (
        error * error - table.error_squares[state, action]
    )
    if algorithm == Q_LAMBDA:
        pair = state * table.values.shape[1] + action
        update_traced(table, rules, learning_rate, discount, pair, error)
    elif is_other:
        table.other[state, action] += size * error
    else:
        table.values[state, action] += size * error
    return error


@compiled
def following_value(
    table: Table, algorithm: int, epsilon: float, state: int, action: int, is_other: bool
) -> Real:
    """What the algorithm expects from this state on; `action` is SARSA's next."""
    if algorithm == SARSA:
        return table.values[state, action]
    if algorithm == EXPECTED_SARSA:
        return expected_value(table, epsilon, state)
    best = 0
    if is_other:  # of two tables, one says which action is best and the other what it is worth
        for another in range(1, table.other.shape[1]):
            if table.other[state, another] > table.other[state, best]:
                best = another
        return table.values[state, best]
    for another in range(1, table.values.shape[1]):
        if table.values[state, another] > table.values[state, best]:
            best = another
    return table.other[state, best] if algorithm == DOUBLE_Q else table.values[state, best]


@compiled
def value_range(table: Table, algorithm: int) -> Real:
    """Between the highest and the lowest value of all pairs that were visited."""
    low, high, is_first = 0.0, 0.0, True
    for state in range(table.values.shape[0]):
        for action in range(table.values.shape[1]):
            if table.visits[state, action] > 0:
                this = value(table, algorithm, state, action)
                if is_first or this < low:
                    low = this
                if is_first or this > high:
                    high = this
                is_first = False
    return high - low


@compiled
def confidence(table: Table, rules: Rules, learning_rate: float, spread: float, state: int) -> Real:
    """How sure it is that no action is better in this state than the one that seems best, 0 to 1.

    For each other action: g is how much better the best one seems, plus a hundredth of the
    table's range of values (as near as that counts as equally good); s² is the variance of the
    two estimates. By Cantelli's inequality the other is really better with a probability of at
    most s² / (s² + g²), however errors are distributed; what is left of 1 counts, of the most
    dangerous rival. An estimate's variance is the mean square of its latest errors, times a/(2-a)
    for its step size a, or 1/n after n updates if that is more. This times n/(n+5) of the action
    tried least, because few errors say little: 0 as long as one was never tried, or while all
    values in the table are the same. `spread` is the `value_range`.

    It judges the table by its own errors: what the values are based on, those of later states,
    may still change together.
    """
    if spread <= 0.0:
        return 0.0
    actions = table.values.shape[1]
    fewest = table.visits[state, 0]
    for action in range(1, actions):
        fewest = min(fewest, table.visits[state, action])
    if fewest == 0:
        return 0.0
    best = best_action(table, rules.algorithm, state)
    lowest = 1.0
    best_variance = estimate_variance(table, rules, learning_rate, state, best)
    for action in range(actions):
        if action != best:
            gap = value(table, rules.algorithm, state, best) + _NO_DIFFERENCE * spread
            gap -= value(table, rules.algorithm, state, action)
            variance = best_variance + estimate_variance(table, rules, learning_rate, state, action)
            lowest = min(lowest, gap * gap / (gap * gap + variance))
    return lowest * (fewest / (fewest + _TRUSTED_VISITS))


@compiled
def estimate_variance(
    table: Table, rules: Rules, learning_rate: float, state: int, action: int
) -> Real:
    visits = table.visits[state, action]
    size = step_size(rules, learning_rate, visits)
    return table.error_squares[state, action] * max(size / (2.0 - size), 1.0 / visits)


@compiled
def begin(main: Table, option: Table, aim: Aim, place: Integers, sums: Floats, state: int) -> None:
    """A new episode, in this state."""
    clear_traces(main)
    clear_traces(option)
    place[STATE] = state
    place[ELAPSED] = 0
    place[NEXT_ACTION] = -1
    place[IN_EPISODE] = 1
    place[REACHED] = 1 if state == aim.target else 0
    place[FOLLOWING] = 1 if aim.target >= 0 and state != aim.target else 0
    sums[RETURN] = 0.0


@compiled
def exploration(table: Table, rules: Rules, aim: Aim) -> Real:
    if aim.epsilon >= 0.0:
        return aim.epsilon
    return scheduled(
        rules.epsilon, rules.final_epsilon, rules.anneal_episodes, table.counts[TABLE_EPISODES]
    )


@compiled
def rate(table: Table, rules: Rules) -> Real:
    return scheduled(
        rules.learning_rate,
        rules.final_learning_rate,
        rules.anneal_episodes,
        table.counts[TABLE_EPISODES],
    )


@compiled
def decide(
    main: Table, option: Table, rules: Rules, aim: Aim, place: Integers, number: float
) -> Whole:
    if place[NEXT_ACTION] >= 0:
        return place[NEXT_ACTION]
    if place[FOLLOWING]:
        epsilon = exploration(option, rules, aim)
        return choose(option, rules.algorithm, epsilon, place[STATE], number)
    return choose(main, rules.algorithm, exploration(main, rules, aim), place[STATE], number)


@compiled
def absorb(
    main: Table,
    option: Table,
    rules: Rules,
    aim: Aim,
    place: Integers,
    sums: Floats,
    action: int,
    outcome: tuple[float, int, bool, bool],
    numbers: Floats,
) -> bool:
    """Learn from what came of an action and go on from there; True at the end of the episode.

    `outcome`: reward, next state, terminated, truncated. `numbers` begin with the step's,
    of which the first chose the action.
    """
    reward, next_state, terminated, truncated = outcome
    state, following = place[STATE], place[FOLLOWING] == 1
    arrived = following and next_state == aim.target
    next_action = -1
    if rules.algorithm == SARSA and not terminated:
        if following and not arrived:
            epsilon = exploration(option, rules, aim)
            next_action = choose(option, rules.algorithm, epsilon, next_state, numbers[1])
        else:
            epsilon = exploration(main, rules, aim)
            next_action = choose(main, rules.algorithm, epsilon, next_state, numbers[1])
    if aim.learns:
        if following:
            # Its own reward: one for arriving. Where the algorithm can learn from what another
            # policy does, the main table learns along.
            rates = (rate(option, rules), exploration(option, rules, aim))
            learn(
                option, rules, rates, rules.subgoal_discount, state, action,
                1.0 if arrived else 0.0, next_state, next_action, terminated or arrived, numbers[2],
            )  # fmt: skip
        if not following or rules.algorithm != SARSA:
            rates = (rate(main, rules), exploration(main, rules, aim))
            error = learn(
                main, rules, rates, rules.discount, state, action,
                reward, next_state, next_action, terminated, numbers[1],
            )  # fmt: skip
            sums[ERROR_SUM] += abs(error)
            sums[ERRORS] += 1.0
    place[STEPS] += 1
    place[STATE] = next_state
    place[ELAPSED] += 1
    place[NEXT_ACTION] = next_action
    sums[RETURN] += reward
    if arrived:
        place[FOLLOWING] = 0
        place[REACHED] = 1
    if not (terminated or truncated):
        return False
    place[IN_EPISODE] = 0
    place[NEXT_ACTION] = -1
    place[EPISODES] += 1
    if aim.learns:
        main.counts[TABLE_EPISODES] += 1
        if aim.target >= 0:
            option.counts[TABLE_EPISODES] += 1
    return True


@compiled
def note_step(
    main: Table, option: Table, rules: Rules, place: Integers, sums: Floats, action: int,
    integers: Integers, reals: Floats,
) -> None:  # fmt: skip
    """The first half of a recorded step: what the agent knew when it chose."""
    integers[R_EPISODE] = place[EPISODES]
    integers[R_INDEX] = place[ELAPSED]
    integers[R_STATE] = place[STATE]
    integers[R_ACTION] = action
    if place[FOLLOWING]:
        integers[R_FLAGS] = WAS_FOLLOWING
        note_knowledge(option, rules, sums, place[STATE], reals)
    else:
        integers[R_FLAGS] = 0
        note_knowledge(main, rules, sums, place[STATE], reals)


@compiled
def note_knowledge(table: Table, rules: Rules, sums: Floats, state: int, reals: Floats) -> None:
    reals[R_CONFIDENCE] = confidence(table, rules, rate(table, rules), sums[RANGE], state)
    for index in range(table.values.shape[1]):
        reals[R_VALUES + index] = value(table, rules.algorithm, state, index)


@compiled
def note_range(main: Table, option: Table, rules: Rules, place: Integers, sums: Floats) -> None:
    """Once per episode: what the recorded confidence is measured by."""
    if place[FOLLOWING]:
        sums[RANGE] = value_range(option, rules.algorithm)
    else:
        sums[RANGE] = value_range(main, rules.algorithm)


@compiled
def outcome_of(moves: Moves, state: int, action: int, number: float) -> Whole:
    """As Gymnasium draws one: the first whose cumulative probability is above the number."""
    for index in range(moves.cumulative.shape[2]):
        if moves.cumulative[state, action, index] > number:
            return index
    return 0


@compiled
def start_of(moves: Moves, number: float) -> Whole:
    low, high = 0, len(moves.start_cumulative)
    while low < high:
        middle = (low + high) // 2
        if moves.start_cumulative[middle] > number:
            high = middle
        else:
            low = middle + 1
    return moves.start_states[low] if low < len(moves.start_states) else 0


@compiled
def play(
    moves: Moves,
    main: Table,
    option: Table,
    rules: Rules,
    aim: Aim,
    place: Integers,
    sums: Floats,
    environment_numbers: Floats,
    learner_numbers: Floats,
    returns: Floats,
    endings: Integers,
    integers: Integers,
    reals: Floats,
    most_steps: int,
) -> tuple[int, int, int]:
    """Up to so many steps, or until `returns` is full; what was begun goes on at the next call.

    Numbers are drawn beforehand: at most two of the environment's per step, and `rules.draws` of
    the learner's. `endings` [episode, 2]: length and flags. Steps are recorded when `integers` has
    rows; it then has at least `most_steps`. Returns steps, episodes, and how many of the
    environment's numbers were used.
    """
    step, episode, used = 0, 0, 0
    is_recorded = len(integers) > 0
    while step < most_steps and episode < len(returns):
        if place[IN_EPISODE] == 0:
            begin(main, option, aim, place, sums, start_of(moves, environment_numbers[used]))
            used += 1
            if is_recorded:
                note_range(main, option, rules, place, sums)
        numbers = learner_numbers[step * rules.draws :]
        state = place[STATE]
        action = decide(main, option, rules, aim, place, numbers[0])
        if is_recorded:
            note_step(main, option, rules, place, sums, action, integers[step], reals[step])
        index = outcome_of(moves, state, action, environment_numbers[used])
        used += 1
        next_state = moves.next_states[state, action, index]
        reward = moves.rewards[state, action, index]
        terminated = moves.ends[state, action, index]
        truncated = moves.limit > 0 and place[ELAPSED] + 1 >= moves.limit
        flags = (TERMINATED if terminated else 0) + (TRUNCATED if truncated else 0)
        if is_recorded:
            reals[step, R_REWARD] = reward
            integers[step, R_NEXT_STATE] = next_state
            integers[step, R_FLAGS] += flags
        outcome = (reward, next_state, terminated, truncated)
        if absorb(main, option, rules, aim, place, sums, action, outcome, numbers):
            returns[episode] = sums[RETURN]
            endings[episode, 0] = place[ELAPSED]
            endings[episode, 1] = flags + (HAS_REACHED if place[REACHED] else 0)
            episode += 1
        step += 1
    return step, episode, used


def numbers_per_step(algorithm: int) -> int:
    """One for the choice; SARSA's next choice, or double Q's coins for the two tables."""
    return {SARSA: 2, DOUBLE_Q: 3}.get(algorithm, 1)
