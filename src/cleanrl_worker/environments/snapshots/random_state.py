"""The random numbers of an environment, as values that JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def random_state(env: Any) -> dict[str, Any]:
    """The state of `np_random`: a Generator, or a RandomState as DM Control has it."""
    random = env.unwrapped.np_random
    if isinstance(random, np.random.RandomState):
        return _plain(random.get_state(legacy=False))
    return _plain(random.bit_generator.state)


def set_random_state(env: Any, state: Mapping[str, Any]) -> None:
    """In place, because some environments hand their generator on to their parts.

    Raises ValueError, TypeError, OverflowError or KeyError when the state is of another kind of
    generator.
    """
    _require_places(state)
    random = env.unwrapped.np_random
    if isinstance(random, np.random.RandomState):
        random.set_state(dict(state))
    else:
        random.bit_generator.state = dict(state)


def _require_places(state: Mapping[str, Any]) -> None:
    """numpy itself goes wherever these places say, also beyond the numbers it has."""
    inner = state["state"]
    for place, numbers in (
        (inner.get("pos", 0), inner.get("key", ())),
        (state.get("buffer_pos", 0), state.get("buffer", ())),
    ):
        if not isinstance(place, int) or not 0 <= place <= len(numbers):
            raise ValueError("not a state of random numbers")


def _plain(state: Any) -> dict[str, Any]:
    return {
        name: _plain(value)
        if isinstance(value, Mapping)
        else value.tolist()
        if isinstance(value, np.ndarray)
        else value
        for name, value in state.items()
    }
