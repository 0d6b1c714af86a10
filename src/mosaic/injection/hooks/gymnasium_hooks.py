"""Gymnasium and its predecessor Gym: environments are followed, however they are made."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from mosaic.injection.hooks.gymnasium_compat import restore_old_behaviour
from mosaic.injection.hooks.mirroring import also
from mosaic.injection.hooks.shortcuts import (
    counting_time_limit,
    shorten_order_enforcing,
    skip_what_passes_on,
)
from mosaic.injection.session import Session

# What `make` puts around an environment. Its innermost class is followed too, for environments
# that a script makes without it.
_WRAPPERS = ("OrderEnforcing", "TimeLimit")


def install(module: ModuleType, session: Session) -> None:
    core: Any = sys.modules[f"{module.__name__}.core"]
    wrappers: Any = sys.modules.get(f"{module.__name__}.wrappers")
    if module.__name__ == "gymnasium" and wrappers is not None:
        shorten_order_enforcing(wrappers.OrderEnforcing, core.Wrapper)
    session.layers.follow_reset(core.Env, is_innermost=True)
    for name in _WRAPPERS:
        kind = getattr(wrappers, name, None)
        if name == "TimeLimit" and module.__name__ == "gymnasium":
            _count_with_less(wrappers, core, session)
        if isinstance(kind, type):
            session.layers.follow_reset(kind)
    for kind in (core.Env, core.Wrapper):
        session.layers.follow_close(kind)
    if module.__name__ != "gymnasium":
        return
    _follow_vectors(module, session)
    if session.is_compatible:
        restore_old_behaviour(module, session)
    elif int(module.__version__.split(".")[0]) >= 1:
        _tell_of_vectors(module, session)


def _count_with_less(wrappers: Any, core: Any, session: Session) -> None:
    counted = counting_time_limit(wrappers.TimeLimit)
    if counted is not None:
        skip_what_passes_on(wrappers, core.Wrapper)
        session.layers.count_with(wrappers.TimeLimit, counted)


def _follow_vectors(module: ModuleType, session: Session) -> None:
    """Those that are no collection of environments, each of which is followed by itself."""
    vector: Any = sys.modules.get(f"{module.__name__}.vector")
    base = getattr(vector, "VectorEnv", None)
    if base is None:
        return
    collections = (vector.SyncVectorEnv, vector.AsyncVectorEnv)
    modes = getattr(vector, "AutoresetMode", None)

    def began(envs: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(envs, collections):
            mode = (getattr(envs, "metadata", None) or {}).get("autoreset_mode")
            resets_later = modes is not None and mode in (None, modes.NEXT_STEP)
            session.vectors.begin(envs, envs.num_envs, resets_later=resets_later)

    also(base, "reset", began, session.complaints)


def _tell_of_vectors(module: ModuleType, session: Session) -> None:
    """A script that does not say how they reset may not know that this has changed."""
    vector: Any = sys.modules[f"{module.__name__}.vector"]

    is_told = False

    def made(envs: Any, *args: Any, **kwargs: Any) -> None:
        nonlocal is_told
        if not is_told and "autoreset_mode" not in kwargs:
            is_told = True
            session.bridge.vectors(module.__version__)

    for kind in (vector.SyncVectorEnv, vector.AsyncVectorEnv):
        also(kind, "__init__", made, session.complaints)
