"""From an observation to the number of a state: counted, put into bins, or as first met."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from spade_bdi_rl_worker.learning.errors import WorldError

MOST_STATES = 5_000_000
DEFAULT_BINS = 10
_LONGEST_DIGEST = 16
# Where the values of environments without bounds usually are. CartPole: beyond its angle and
# position the episode is over; its speeds while it balances are much smaller than these.
USUAL_BOUNDS: dict[str, tuple[Sequence[float], Sequence[float]]] = {
    "CartPole": ((-2.4, -3.0, -0.21, -3.0), (2.4, 3.0, 0.21, 3.0)),
}


class StateReader(ABC):
    """Numbers the states of one environment."""

    size: int  # numbers given so far, or all there are
    grows = False

    @abstractmethod
    def read(self, observation: Any) -> int: ...

    @abstractmethod
    def name(self, state: int) -> str: ...

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Raises ValueError or LookupError when it is of something else."""
        if saved:
            raise ValueError("it numbers states that are numbered already")


class CountedStates(StateReader):
    """Discrete observations, and tuples of them: one digit each."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self._sizes, self._firsts = _digits(space)
        self.size = math.prod(self._sizes)
        _refuse_many(self.size, "observations")

    def read(self, observation: Any) -> int:
        if len(self._sizes) == 1 and np.ndim(observation) == 0:
            return int(observation) - self._firsts[0]
        state = 0
        digits = np.ravel(observation) if isinstance(observation, np.ndarray) else observation
        for digit, size, first in zip(digits, self._sizes, self._firsts, strict=True):
            state = state * size + int(digit) - first
        return state

    def digits(self, state: int) -> list[int]:
        found = []
        for size, first in zip(reversed(self._sizes), reversed(self._firsts), strict=True):
            state, digit = divmod(state, size)
            found.append(digit + first)
        return found[::-1]

    def name(self, state: int) -> str:
        digits = self.digits(state)
        return f"state {digits[0]}" if len(digits) == 1 else f"state {tuple(digits)}"


def _digits(space: spaces.Space[Any]) -> tuple[list[int], list[int]]:
    if isinstance(space, spaces.Discrete):
        return [int(space.n)], [int(space.start)]
    if isinstance(space, spaces.MultiDiscrete):
        starts = np.zeros_like(space.nvec) if space.start is None else space.start
        return [int(n) for n in space.nvec.ravel()], [int(n) for n in np.ravel(starts)]
    if isinstance(space, spaces.MultiBinary):
        count = int(np.prod(space.shape))
        return [2] * count, [0] * count
    if isinstance(space, spaces.Tuple):
        sizes, firsts = [], []
        for part in space:
            if not isinstance(part, spaces.Discrete):
                break
            sizes.append(int(part.n))
            firsts.append(int(part.start))
        else:
            return sizes, firsts
    raise LookupError("not made of whole numbers")


class BinnedStates(StateReader):
    """Box observations: each value by the bin it is in; beyond the bounds, the outermost bin."""

    def __init__(self, low: NDArray[Any], high: NDArray[Any], counts: Sequence[int]) -> None:
        self._counts = list(counts)
        self.size = math.prod(self._counts)
        _refuse_many(self.size, "bins")
        self.edges = [
            np.linspace(low[index], high[index], count + 1)[1:-1]
            for index, count in enumerate(self._counts)
        ]

    def read(self, observation: Any) -> int:
        state = 0
        for value, edges, count in zip(
            np.ravel(observation).tolist(), self.edges, self._counts, strict=True
        ):
            state = state * count + int(edges.searchsorted(value, "right"))
        return state

    def name(self, state: int) -> str:
        bins = []
        for count in reversed(self._counts):
            state, index = divmod(state, count)
            bins.append(f"{index + 1} of {count}")
        return f"bins {', '.join(bins[::-1])}"


def binned(space: spaces.Box, bins: Any, base_name: str) -> BinnedStates:
    """`bins`: a count for all values, one for each, or {"counts": …, "low": …, "high": …}."""
    given: Mapping[str, Any] = bins if isinstance(bins, Mapping) else {"counts": bins}
    for name in given:
        if name not in ("counts", "low", "high"):
            raise _wrong_bins(f"have no {name!r}")
    width = int(np.prod(space.shape))
    counts = given.get("counts")
    counts = DEFAULT_BINS if counts is None else counts
    per_value = list(counts) if isinstance(counts, list | tuple) else [counts] * width
    if len(per_value) != width:
        raise _wrong_bins(f"are {len(per_value)} counts; an observation has {width} values")
    for count in per_value:
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 10_000:
            raise _wrong_bins(f"name {count!r} as a count; it has to be from 1 to 10,000")
    usual = USUAL_BOUNDS.get(base_name, (space.low, space.high))
    low, high = (
        _bounds(given.get(name), name, np.ravel(usual[index]), width)
        for index, name in enumerate(("low", "high"))
    )
    if not (low < high).all():
        raise _wrong_bins("have a low that is not below its high")
    return BinnedStates(low, high, per_value)


def _bounds(given: Any, name: str, usual: NDArray[Any], width: int) -> NDArray[Any]:
    try:
        bounds = np.asarray(usual if given is None else given, dtype=np.float64)
    except (TypeError, ValueError):
        raise _wrong_bins(f"have a {name!r} that is no list of numbers") from None
    if bounds.shape != (width,):
        raise _wrong_bins(f"have a {name!r} of {bounds.size} numbers; there are {width} values")
    if not np.isfinite(bounds).all() or (np.abs(bounds) > 1e30).any():
        raise _wrong_bins(f"need a {name!r}: the environment's own has no bound")
    return bounds


def _wrong_bins(problem: str) -> WorldError:
    return WorldError(
        f"'bins' {problem}",
        hint='for example 10, [6, 6, 12, 12] or {"counts": 8, "low": [-1, -2], "high": [1, 2]}',
        field="bins",
    )


def _refuse_many(count: int, what: str) -> None:
    if not 0 < count <= MOST_STATES:
        raise WorldError(
            f"The environment has {count:,} different {what}; a table can have {MOST_STATES:,}",
            hint="choose a smaller environment, or fewer bins",
            field="bins" if what == "bins" else "env_id",
        )


class MetStates(StateReader):
    """Numbers states in the order in which they are met, by a digest of all that they are."""

    grows = True

    def __init__(
        self,
        content: Callable[[Any], bytes],
        about: Callable[[], tuple[str, tuple[int, int] | None]],
    ) -> None:
        """`about`: of the state that is being met, its name and its cell."""
        self._content, self._about = content, about
        self._numbers: dict[bytes, int] = {}
        self._names: list[str] = []
        self._cells: list[tuple[int, int] | None] = []

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self._numbers)

    def read(self, observation: Any) -> int:
        data = self._content(observation)
        digest = hashlib.blake2b(data, digest_size=_LONGEST_DIGEST).digest()
        known = self._numbers.get(digest)
        if known is not None:
            return known
        number = len(self._numbers)
        _refuse_many(number + 1, "states")
        self._numbers[digest] = number
        name, cell = self._about()
        self._names.append(name or f"state {number}")
        self._cells.append(cell)
        return number

    def name(self, state: int) -> str:
        return self._names[state]

    def cell_of(self, state: int) -> tuple[int, int] | None:
        return self._cells[state] if 0 <= state < len(self._cells) else None

    def state_dict(self) -> dict[str, Any]:
        return {
            "digests": np.frombuffer(b"".join(self._numbers), dtype=np.uint8),
            "names": list(self._names),
            "cells": [None if cell is None else list(cell) for cell in self._cells],
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        digests = np.asarray(saved["digests"], dtype=np.uint8).tobytes()
        names, cells = saved["names"], saved["cells"]
        count = len(digests) // _LONGEST_DIGEST
        numbers = {
            digests[start : start + _LONGEST_DIGEST]: start // _LONGEST_DIGEST
            for start in range(0, len(digests), _LONGEST_DIGEST)
        }
        if not len(names) == len(cells) == len(numbers) == count:
            raise ValueError("its states are not numbered one by one")
        self._numbers = numbers
        self._names = [str(name) for name in names]
        self._cells = [None if cell is None else (int(cell[0]), int(cell[1])) for cell in cells]


def raw_bytes(observation: Any) -> bytes:
    """All that an observation is: arrays, and dictionaries and tuples of them."""
    if isinstance(observation, Mapping):
        parts = [raw_bytes(observation[key]) for key in sorted(observation)]
    elif isinstance(observation, tuple | list):
        parts = [raw_bytes(part) for part in observation]
    elif isinstance(observation, str):
        return observation.encode()
    else:
        array = np.asarray(observation)
        if array.dtype.hasobject:
            return repr(observation).encode()
        return str((array.dtype.str, array.shape)).encode() + array.tobytes()
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)
