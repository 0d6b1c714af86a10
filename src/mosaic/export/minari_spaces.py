"""Spaces for a Minari dataset: the environment's own where they fit, else what the data says."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from mosaic.contracts.consent import foreign_arguments, names_module
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.errors import RequestError
from mosaic.export.run_rows import PlayedEpisode

_KNOWN = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary, spaces.Text)


@dataclass(frozen=True)
class Spaces:
    observation: Any
    action: Any
    # Absent where the environment cannot be made here, or gives other observations: workers wrap
    # their environments.
    env_spec: EnvSpec | None

    @staticmethod
    def stacked(space: Any, values: list[Any]) -> Any:
        """All values of an episode in the form that Minari stores: leaves of lists."""
        if isinstance(space, spaces.Dict):
            return {
                key: Spaces.stacked(part, [value[key] for value in values])
                for key, part in space.spaces.items()
            }
        if isinstance(space, spaces.Tuple):
            return tuple(
                Spaces.stacked(part, [value[place] for value in values])
                for place, part in enumerate(space.spaces)
            )
        if isinstance(space, spaces.Text):
            return [str(value) for value in values]
        return np.asarray(values, dtype=space.dtype)


def spaces_of(record: RunRecord, episode: PlayedEpisode) -> Spaces:
    observation, action = episode.observations[0], episode.actions[0]
    is_foreign = names_module(record.env_id, "env_id") or foreign_arguments(episode.env_kwargs)
    env = None
    if record.origin is not Origin.IMPORTED or not is_foreign:
        env = _environment(record.env_id, episode.env_kwargs)
    if env is None:
        return Spaces(_inferred(observation, "observation"), _inferred(action, "action"), None)
    seen, done = env.observation_space, env.action_space
    is_same = _fits(seen, observation) and _fits(done, action)
    return Spaces(
        _storable(seen, observation, "observation"),
        _storable(done, action, "action"),
        env.spec if is_same else None,
    )


def _environment(env_id: str, env_kwargs: dict[str, Any]) -> gymnasium.Env[Any, Any] | None:
    try:
        env = gymnasium.make(env_id, **env_kwargs)
        env.close()
    except Exception:  # noqa: BLE001 (whatever an environment does, the data can be exported)
        return None
    return env


def _storable(space: Any, value: Any, what: str) -> Any:
    """The space, where it is one that Minari knows and the value is of its form."""
    if not _fits(space, value):
        return _inferred(value, what)
    if isinstance(space, spaces.Dict):
        parts = space.spaces.items()
        return spaces.Dict({key: _storable(part, value[key], what) for key, part in parts})
    if isinstance(space, spaces.Tuple):
        pairs = zip(space.spaces, value, strict=True)
        return spaces.Tuple([_storable(part, item, what) for part, item in pairs])
    return space if isinstance(space, _KNOWN) else _inferred(value, what)


def _fits(space: Any, value: Any) -> bool:
    """Whether values of this form belong to the space, once they have its type."""
    if isinstance(space, spaces.Dict):
        is_same = isinstance(value, dict) and set(value) == set(space.spaces)
        return is_same and all(_fits(part, value[key]) for key, part in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        is_same = isinstance(value, list | tuple) and len(value) == len(space.spaces)
        return is_same and all(map(_fits, space.spaces, value))
    if isinstance(space, spaces.Text):
        return isinstance(value, str)
    if not isinstance(space, _KNOWN):
        return bool(space.contains(value))  # a space of the environment's own making
    try:
        array = np.asarray(value)
    except ValueError:
        return False
    return array.dtype.kind in "biuf" and array.shape == space.shape


def _inferred(value: Any, what: str) -> Any:
    if isinstance(value, dict):
        return spaces.Dict({str(key): _inferred(part, what) for key, part in value.items()})
    if isinstance(value, tuple):
        return spaces.Tuple([_inferred(part, what) for part in value])
    if isinstance(value, str):
        return spaces.Text(2**16, charset=string.printable)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype == np.bool_:
        array = array.astype(np.int8)
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return spaces.Box(limits.min, limits.max, array.shape, array.dtype)
    if array.dtype.kind == "f":
        return spaces.Box(-np.inf, np.inf, array.shape, array.dtype)
    raise RequestError(
        f"An {what} of the run is no array of numbers and cannot be part of a dataset",
        hint="export the steps as CSV or Parquet instead: they keep any JSON value",
    )
