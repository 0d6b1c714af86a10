"""PreparedEnv: the wrapper between a raw environment and a batch, which converts observations.

Networks take a float32 vector or a uint8 image. A conversion is chosen once, from the space, so
that a step only pays for what it needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mosaic.errors import ConfigError

Convert = Callable[[Any], NDArray[Any]]
_Write = Callable[[Any, NDArray[np.float32]], None]  # an observation into its part of the vector


class PreparedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Converts observations and ends episodes at the step limit.

    It takes the place of gymnasium's stack of TimeLimit, OrderEnforcing and observation wrappers,
    each of which costs a call per step and keeps its state to itself. Own state, for snapshots:
    `elapsed_steps`; the rest lies in `unwrapped`.
    """

    reports_episodes = False  # whether info["episode"] tells of finished episodes

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        conversion: Conversion,
        max_episode_steps: int | None = None,
    ) -> None:
        super().__init__(env)
        self.observation_space = conversion.space
        self.max_episode_steps = max_episode_steps
        self.elapsed_steps = 0
        self._convert = conversion.convert
        self._limit = math.inf if max_episode_steps is None else max_episode_steps

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.elapsed_steps = 0
        observation, info = self.env.reset(seed=seed, options=options)
        if self._convert is not None:
            observation = self._convert(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.elapsed_steps += 1
        if self.elapsed_steps >= self._limit:
            truncated = True
        if self._convert is not None:
            observation = self._convert(observation)
        return observation, reward, terminated, truncated, info

    def snapshot_state(self) -> dict[str, Any]:
        """The wrapper's own state; that of `unwrapped` is taken elsewhere."""
        return {"elapsed_steps": self.elapsed_steps}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        self.elapsed_steps = int(state["elapsed_steps"])


class Conversion(NamedTuple):
    space: spaces.Box
    convert: Convert | None  # None: observations are fine as they are


def is_image(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) == 3


def conversion_for(space: spaces.Space[Any]) -> Conversion:
    """Images stay; everything else becomes a flat float32 vector, Discrete parts one-hot."""
    if isinstance(space, spaces.Box):
        if is_image(space) or (space.dtype == np.float32 and len(space.shape) == 1):
            return Conversion(space, None)
        return _box_conversion(space)
    if isinstance(space, spaces.Discrete) and space.start == 0:
        rows = np.eye(int(space.n), dtype=np.float32)
        rows.setflags(write=False)  # every step hands out a row of this one table
        return Conversion(spaces.Box(0.0, 1.0, (int(space.n),), np.float32), rows.__getitem__)
    return _flattening(space)


def _box_conversion(space: spaces.Box) -> Conversion:
    low, high = (bound.astype(np.float32).ravel() for bound in (space.low, space.high))
    vector = spaces.Box(low, high, dtype=np.float32)
    if len(space.shape) == 1:
        return Conversion(vector, lambda observation: observation.astype(np.float32))
    return Conversion(vector, lambda observation: np.ravel(observation).astype(np.float32))


def _flattening(space: spaces.Space[Any]) -> Conversion:
    bounds: list[NDArray[np.float32]] = []
    write, size = _writer(space, 0, bounds)

    def convert(observation: Any) -> NDArray[np.float32]:
        vector = np.zeros(size, np.float32)
        write(observation, vector)
        return vector

    low, high = np.concatenate(bounds, axis=1)
    return Conversion(spaces.Box(low, high, dtype=np.float32), convert)


def _writer(
    space: spaces.Space[Any], start: int, bounds: list[NDArray[np.float32]]
) -> tuple[_Write, int]:
    """A function that writes one observation from `start` on, and where the next part begins."""
    match space:
        case spaces.Discrete():
            first = start - int(space.start)
            bounds.append(_unit_bounds(int(space.n)))
            return lambda value, vector: vector.__setitem__(first + value, 1.0), start + int(
                space.n
            )
        case spaces.MultiDiscrete():
            sizes = space.nvec.ravel()
            firsts = start + np.concatenate([[0], np.cumsum(sizes)[:-1]]) - space.start.ravel()
            bounds.append(_unit_bounds(int(sizes.sum())))
            return lambda value, vector: vector.__setitem__(
                firsts + np.ravel(value), 1.0
            ), start + int(sizes.sum())
        case spaces.MultiBinary() | spaces.Box():
            part = slice(start, start + int(np.prod(space.shape)))
            bounds.append(_array_bounds(space))
            return lambda value, vector: vector.__setitem__(part, np.ravel(value)), part.stop
        case spaces.Tuple():
            return _members_writer(list(enumerate(space.spaces)), start, bounds)
        case spaces.Dict():
            return _members_writer(list(space.spaces.items()), start, bounds)
    raise ConfigError(
        f"'env_id': observations of the kind {type(space).__name__} cannot be made a vector",
        hint="supported are Box, Discrete, MultiDiscrete, MultiBinary, and Tuple or Dict of these",
        field="env_id",
    )


def _members_writer(
    members: list[tuple[Any, spaces.Space[Any]]], start: int, bounds: list[NDArray[np.float32]]
) -> tuple[_Write, int]:
    writers = []
    for key, member in members:
        write, start = _writer(member, start, bounds)
        writers.append((key, write))

    def write_all(value: Any, vector: NDArray[np.float32]) -> None:
        for key, write in writers:
            write(value[key], vector)

    return write_all, start


def _unit_bounds(size: int) -> NDArray[np.float32]:
    return np.stack([np.zeros(size, np.float32), np.ones(size, np.float32)])


def _array_bounds(space: spaces.MultiBinary | spaces.Box) -> NDArray[np.float32]:
    if isinstance(space, spaces.MultiBinary):
        return _unit_bounds(int(np.prod(space.shape)))
    return np.stack([bound.astype(np.float32).ravel() for bound in (space.low, space.high)])
