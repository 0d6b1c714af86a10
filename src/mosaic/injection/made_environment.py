"""Which environments a script makes, and how each was made, as far as it can be made again."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from typing import Any

# Wrappers that pass actions and rewards on as they are. Others change what the environment gets or
# gives, and nothing says how they were made.
_TRANSPARENT = {
    "gymnasium": ("OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics", "RecordVideo"),
    "stable_baselines3": ("Monitor",),
}
_NOT_OF_THE_EPISODE = ("render_mode",)
# A limit of rl-zoo3, in place of Gymnasium's: where an episode terminates with its last step, it is
# not cut off as well.
_SPARING_LIMIT = ("rl_zoo3", "PatchedTimeLimit")
SPARES = "limit_spares_terminated"  # the setting that tells, where it is so


class NotRecordableError(Exception):
    """Its text says why, for people."""


def creation_settings(env: Any) -> dict[str, Any]:
    """`env` is a stack of wrappers; the answer is the settings of the replay maker.

    Looks and changes nothing: `env.spec` of a wrapper, for example, would remember what it is
    now, which the script may still change.
    """
    core = getattr(env, "unwrapped", env)
    if not any(kind.__module__.split(".")[0] == "gymnasium" for kind in type(core).__mro__):
        raise NotRecordableError("it is not of Gymnasium")
    spec = getattr(core, "spec", None)
    if spec is None:
        raise NotRecordableError("it was not made by gymnasium.make")
    kwargs = {k: v for k, v in dict(spec.kwargs).items() if k not in _NOT_OF_THE_EPISODE}
    return {
        "env_id": str(spec.id),
        "kwargs": _as_json(kwargs),
        **_time_limit(env, core),
        "entry_point": _entry_point(spec.entry_point),
    }


def _as_json(kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        same: dict[str, Any] = json.loads(json.dumps(kwargs))
    except (TypeError, ValueError, RecursionError) as error:
        raise NotRecordableError(f"its arguments are not JSON ({error})") from error
    if not _is_same(same, kwargs):
        raise NotRecordableError("its arguments are not the same as JSON")
    return same


def _is_same(copy: Any, value: Any) -> bool:
    """JSON has no tuples and no keys but strings; a list in place of a tuple will do."""
    if isinstance(value, dict):
        return list(copy) == list(value) and all(_is_same(copy[key], value[key]) for key in value)
    if isinstance(value, (list, tuple)):
        return len(copy) == len(value) and all(map(_is_same, copy, value))
    return type(copy) is type(value) and (copy == value or value != value)


def _time_limit(env: Any, core: Any) -> dict[str, Any]:
    limits, sparing = [], []
    while env is not core:
        name, package = type(env).__name__, type(env).__module__.split(".")[0]
        if package == "gymnasium" and name == "TimeLimit":
            limits.append(int(env._max_episode_steps))
        elif (package, name) == _SPARING_LIMIT:
            sparing.append(int(env._max_episode_steps))
        elif name not in _TRANSPARENT.get(package, ()):
            raise NotRecordableError(f"{name} is between it and the wrapper that is counted")
        env = env.env
    if sparing and min(sparing) < min(limits, default=math.inf):
        return {"max_episode_steps": min(sparing), SPARES: True}
    return {"max_episode_steps": min(limits) if limits else None}


def _entry_point(entry_point: Any) -> str:
    if not isinstance(entry_point, str):
        name = getattr(entry_point, "__qualname__", "")
        entry_point = f"{getattr(entry_point, '__module__', '')}:{name}"
    if entry_point.startswith("__main__:") or "<" in entry_point or ":" not in entry_point:
        raise NotRecordableError("only the script itself can make it")
    return str(entry_point)


_MOST = 20  # a script may make as many as it likes


class EnvironmentNames:
    """Tells which environments a script uses, by the ids Gymnasium knows them by."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def seen(self, environment: Any) -> None:
        """An environment, or a vector of them, that was not there before."""
        env_id = None
        with contextlib.suppress(Exception):  # whatever the script calls `spec`
            env_id = environment.spec.id
        if isinstance(env_id, str) and env_id not in self._told and len(self._told) < _MOST:
            self._told.add(env_id)
            self._tell(env_id)
