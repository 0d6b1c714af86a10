"""Gymnasium and its predecessor Gym: environments are followed, however they are made."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

from mosaic.injection.hooks.gymnasium_compat import restore_old_behaviour
from mosaic.injection.hooks.mirroring import also, hear_purpose, tell_purpose
from mosaic.injection.hooks.shortcuts import (
    counting_time_limit,
    shorten_order_enforcing,
    skip_what_passes_on,
)
from mosaic.injection.layers import Skip
from mosaic.injection.session import HookSession

# What `make` puts around an environment. Innermost classes are followed too, for environments that
# a script makes without it.
_WRAPPERS = ("OrderEnforcing", "TimeLimit")
_NEAREST_FRAMES = 12  # that are looked at
# What runs in the processes of an AsyncVectorEnv, in any version.
_WORKERS = ("_async_worker", "_worker", "_worker_shared_memory")


def install(module: ModuleType, session: HookSession) -> None:
    core: Any = sys.modules[f"{module.__name__}.core"]
    wrappers: Any = sys.modules.get(f"{module.__name__}.wrappers")
    if module.__name__ == "gymnasium" and wrappers is not None:
        shorten_order_enforcing(wrappers.OrderEnforcing, core.Wrapper)
    for name in _WRAPPERS:
        kind = getattr(wrappers, name, None)
        skip = None
        if name == "TimeLimit" and module.__name__ == "gymnasium":
            skip = _count_with_less(wrappers, core, session)
        if isinstance(kind, type):
            session.layers.follow_reset(kind, skip=skip)
    _follow_innermost(module, core, session)
    for kind in (core.Env, core.Wrapper):
        session.layers.follow_close(kind)
    if module.__name__ != "gymnasium":
        return
    _follow_vectors(module, session)
    if session.is_compatible:
        restore_old_behaviour(module, session)
    elif int(module.__version__.split(".")[0]) >= 1:
        _tell_of_vectors(module, session)


def _follow_innermost(module: ModuleType, core: Any, session: HookSession) -> None:
    """Classes that are no wrappers, whether their `reset` calls that of the class above or not."""
    vector: Any = sys.modules.get(f"{module.__name__}.vector")
    others = (core.Wrapper, *filter(None, [getattr(vector, "VectorEnv", None)]))

    def look(kind: type) -> None:
        if not issubclass(kind, others):
            session.layers.follow_reset(kind, is_innermost=True)

    look(core.Env)
    session.subclasses.follow(core.Env, look)
    hear_purpose(core.Env, session)


def _count_with_less(wrappers: Any, core: Any, session: HookSession) -> Skip | None:
    counted = counting_time_limit(wrappers.TimeLimit)
    if counted is None:
        return None
    session.layers.count_with(wrappers.TimeLimit, counted)
    return skip_what_passes_on(wrappers, core.Wrapper)


def _follow_vectors(module: ModuleType, session: HookSession) -> None:
    vector: Any = sys.modules.get(f"{module.__name__}.vector")
    base = getattr(vector, "VectorEnv", None)
    if base is None:
        return
    names = ("SyncVectorEnv", "AsyncVectorEnv", "VectorWrapper", "VectorEnvWrapper")
    # Collections of environments, each of which is followed by itself.
    collections = tuple(filter(None, (getattr(vector, name, None) for name in names)))
    modes = getattr(vector, "AutoresetMode", None)

    def began(envs: Any) -> None:
        if not isinstance(envs, collections):
            mode = (getattr(envs, "metadata", None) or {}).get("autoreset_mode")
            resets_later = modes is not None and mode in (None, modes.NEXT_STEP)
            session.vectors.begin(envs, envs.num_envs, resets_later=resets_later)

    def look(kind: type) -> None:
        if not issubclass(kind, collections):
            session.vectors.follow_reset(kind, began)

    look(base)
    session.subclasses.follow(base, look)
    _follow_collected(module, vector, session)
    tell_purpose(vector.AsyncVectorEnv, vector.AsyncVectorEnv.call, session)


def _follow_collected(gymnasium: Any, vector: Any, session: HookSession) -> None:
    """Vectors take whatever can be reset and stepped, Gymnasium's or not."""

    def follow(env: Any) -> None:
        if not isinstance(env, gymnasium.Env):
            session.layers.follow_class_of(env)

    def made(envs: Any, *args: Any, **kwargs: Any) -> None:
        for env in envs.envs:
            follow(env)

    also(vector.SyncVectorEnv, "__init__", made, session.complaints)
    module: Any = sys.modules[vector.AsyncVectorEnv.__module__]
    for name in _WORKERS:
        if hasattr(module, name):
            setattr(module, name, _following(getattr(module, name), follow))


def _following(worker: Any, follow: Callable[[Any], None]) -> Any:
    @functools.wraps(worker)
    def run(index: int, env_fn: Any, *args: Any, **kwargs: Any) -> Any:
        def make() -> Any:
            env = env_fn()
            follow(env)
            return env

        return worker(index, make, *args, **kwargs)

    return run


def _tell_of_vectors(module: ModuleType, session: HookSession) -> None:
    """A script that does not say how they reset may not know that this has changed."""
    vector: Any = sys.modules[f"{module.__name__}.vector"]

    told: set[bool] = set()

    def made(envs: Any, *args: Any, **kwargs: Any) -> None:
        if "autoreset_mode" not in kwargs and True not in told:
            is_looked_for = looks_for_final_info(sys._getframe(1))
            if is_looked_for not in told:
                told.add(is_looked_for)
                session.bridge.vectors(module.__version__, is_looked_for=is_looked_for)

    for kind in (vector.SyncVectorEnv, vector.AsyncVectorEnv):
        also(kind, "__init__", made, session.complaints)


def looks_for_final_info(frame: FrameType | None) -> bool:
    """Whether a function that is running has been written for vectors that have it, and not for
    those that have `_episode` instead."""
    for _ in range(_NEAREST_FRAMES):
        if frame is None:
            break
        if frame.f_globals.get("__name__", "").partition(".")[0] not in ("mosaic", "gymnasium"):
            constants = _constants(frame.f_code)
            if "final_info" in constants and "_episode" not in constants:
                return True
        frame = frame.f_back
    return False


def _constants(code: CodeType) -> set[Any]:
    """Those of the functions within included."""
    found = {value for value in code.co_consts if isinstance(value, str)}
    for value in code.co_consts:
        if isinstance(value, CodeType):
            found |= _constants(value)
    return found
