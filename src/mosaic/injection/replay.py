"""Episodes of watched scripts simulated again, in the interpreter of the script.

What it needs is the script's: Gymnasium, 0.26 or newer, and numpy.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.replay import EpisodeStart, Moment, ReplayEnvironment
from mosaic.errors import WorkerError
from mosaic.injection.made_environment import SPARES
from mosaic.injection.rendering import Renderer, drawing_variables, reason_without_view

_SETTINGS = {"env_id", "kwargs", "max_episode_steps", "entry_point"}
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_PLAIN = {"int": int, "float": float, "bool": bool}


def make_environment(settings: Mapping[str, Any]) -> ReplayEnvironment:
    """`settings`: as `mosaic.injection.made_environment` tells them."""
    if settings.keys() - {SPARES} != _SETTINGS:
        raise WorkerError("These are not the settings of a watched script's episode")
    for name, value in drawing_variables(os.environ).items():
        os.environ.setdefault(name, value)
    gymnasium: Any = importlib.import_module("gymnasium")
    _make_known(gymnasium, settings["env_id"], settings["entry_point"])
    limit = settings["max_episode_steps"]
    sparing_limit = limit if settings.get(SPARES) else None
    if sparing_limit is not None:
        limit = None
    kwargs = {**settings["kwargs"], "disable_env_checker": True}
    if limit is not None:
        kwargs["max_episode_steps"] = limit
    env = gymnasium.make(settings["env_id"], **kwargs)
    while limit is None and type(env).__name__ == "TimeLimit":
        env = env.env
    return ScriptReplay(env, sparing_limit)


def _make_known(gymnasium: Any, env_id: str, entry_point: str) -> None:
    """Packages register their environments when they are imported; scripts may do it for them.

    The entry point of a run from elsewhere is no more than the name of a package, or nothing: then
    the environment has to be one that is known here.
    """
    registry = gymnasium.envs.registration.registry
    if env_id in registry:
        return
    module, is_function, _ = entry_point.partition(":")
    if module:
        with contextlib.suppress(ImportError):
            importlib.import_module(module.partition(".")[0])
    if env_id in registry:
        return
    if not is_function:
        raise WorkerError(
            f"{env_id} is not an environment of this installation",
            hint=f"is the package {module} installed?" if module else "",
        )
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise WorkerError(
            f"{env_id} cannot be made again: {error}",
            hint="is the package of the environment installed where the script ran?",
        ) from error
    if env_id not in registry:
        gymnasium.register(env_id, entry_point=entry_point)


class ScriptReplay:
    def __init__(self, env: Any, sparing_limit: int | None = None) -> None:
        """`sparing_limit`: after so many steps an episode is cut off, unless it terminates."""
        self._env = env
        self._steps, self._most_steps = 0, math.inf if sparing_limit is None else sparing_limit
        self._was = ""
        metadata = getattr(env, "metadata", None)  # scripts bring environments of any kind
        self.render_fps = metadata.get("render_fps") if isinstance(metadata, dict) else None

    def begin(self, start: EpisodeStart) -> Any:
        details = start.details
        self._was = str(details.get("was", ""))
        self._steps = 0
        options = details.get("options")
        if "seed" in details:
            observation, _ = self._env.reset(seed=int(details["seed"]), options=options)
        else:
            self._env.unwrapped.np_random = _generator(details.get("random_state"))
            observation, _ = self._env.reset(options=options)
        for action in start.lead_actions:
            observation = self.step(action).observation
        return observation

    def step(self, action: Any) -> Moment:
        observation, reward, terminated, truncated, _ = self._env.step(self._as_given(action))
        self._steps += 1
        if self._steps >= self._most_steps and not terminated:
            truncated = True
        return Moment(observation, float(reward), bool(terminated), bool(truncated))

    def picture(self) -> Any:
        core = self._env.unwrapped
        reason = reason_without_view(core)
        if reason is not None:
            raise WorkerError(f"This environment draws no pictures: {reason}")
        return Renderer(core)()

    def close(self) -> None:
        self._env.close()

    def _as_given(self, action: Any) -> Any:
        """As the script gave it: numbers of Python and of numpy do not always add up alike."""
        if self._was in _PLAIN:
            return _PLAIN[self._was](action)
        if self._was:
            numpy: Any = importlib.import_module("numpy")
            return numpy.dtype(self._was).type(action)
        if isinstance(action, (dict, list, str)):
            return _from_json(self._env.action_space, action)
        return action


def _generator(state: Any) -> Any:
    random: Any = importlib.import_module("numpy.random")
    try:
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise ValueError(f"there is no {str(state['bit_generator'])[:40]!r}")
        bits = getattr(random, state["bit_generator"])()
        bits.state = state
        return random.Generator(bits)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise WorkerError(
            f"The recorded state of the random numbers cannot be used: {error}",
            hint="was it recorded with another version of numpy?",
        ) from error


def _from_json(space: Any, value: Any) -> Any:
    """What a dictionary, a tuple or a list in JSON was, as the action space has it."""
    try:
        name = type(space).__name__
        if name == "Dict":
            return {key: _from_json(part, value[key]) for key, part in space.spaces.items()}
        if name == "Tuple":
            if len(space.spaces) != len(value):
                raise ValueError("it has another number of parts")
            return tuple(map(_from_json, space.spaces, value))
        if name in ("Box", "MultiDiscrete", "MultiBinary"):
            numpy: Any = importlib.import_module("numpy")
            return numpy.array(value, space.dtype).reshape(space.shape)
        return value
    except (TypeError, ValueError, KeyError) as error:
        raise WorkerError(
            f"The recorded action {str(value)[:80]} is none of {space}: {error}"
        ) from error
