"""Exploration of the Q-learning family: actions at random with a probability that shrinks.

And how its updates keep their pace with the steps of several environments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.kit.session import Session

Actions = NDArray[np.int64]


def exploration_rate(start: float, end: float, duration: float, step: int) -> float:
    """From `start` to `end` in a straight line of `duration` steps, then `end`."""
    if step >= duration:
        return end
    return start + (end - start) * step / duration


def announce_exploration(session: Session) -> None:
    """Say how a training that is to go on for longer than planned explores."""
    total = session.arguments.total_timesteps
    if session.planned_timesteps != total:
        session.note(
            f"exploration follows its plan of {session.planned_timesteps} steps, so that what was "
            f"learnt is not left to chance again; the run now ends at step {total}"
        )


def multiples_within(start: int, end: int, interval: int) -> int:
    """How many multiples of `interval` come after `start`, up to and including `end`."""
    return end // interval - start // interval


def epsilon_greedy(
    greedy: Callable[[NDArray[Any]], Actions],
    observations: NDArray[Any],
    epsilon: float,
    num_actions: int,
    rng: np.random.Generator,
) -> Actions:
    """Each environment explores by a coin of its own; the network is asked only when needed."""
    draw = rng.random
    explored = [int(draw() * num_actions) if draw() < epsilon else None for _ in observations]
    if None not in explored:
        return np.array(explored)
    actions = greedy(observations)
    for index, action in enumerate(explored):
        if action is not None:
            actions[index] = action
    return actions
