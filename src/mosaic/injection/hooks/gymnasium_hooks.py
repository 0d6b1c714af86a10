"""Gymnasium and its predecessor Gym: environments are followed, however they are made."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from mosaic.injection.hooks.gymnasium_compat import restore_old_behaviour
from mosaic.injection.hooks.shortcuts import counting_time_limit, shorten_order_enforcing
from mosaic.injection.session import Session

# What `make` puts around an environment. Its innermost class is followed too, for environments
# that a script makes without it.
_WRAPPERS = ("TimeLimit", "OrderEnforcing")


def install(module: ModuleType, session: Session) -> None:
    core: Any = sys.modules[f"{module.__name__}.core"]
    wrappers: Any = sys.modules.get(f"{module.__name__}.wrappers")
    if module.__name__ == "gymnasium" and wrappers is not None:
        shorten_order_enforcing(wrappers.OrderEnforcing, core.Wrapper)
        counted = counting_time_limit(wrappers.TimeLimit)
        if counted is not None:
            session.layers.count_with(wrappers.TimeLimit, counted)
    session.layers.follow_reset(core.Env, is_innermost=True)
    for name in _WRAPPERS:
        kind = getattr(wrappers, name, None)
        if isinstance(kind, type):
            session.layers.follow_reset(kind)
    for kind in (core.Env, core.Wrapper):
        session.layers.follow_close(kind)
    if session.is_compatible and module.__name__ == "gymnasium":
        restore_old_behaviour(module, session)
