"""EnvPool: one class resets and steps all its pools, whatever their interface is."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mosaic.injection.hooks.mirroring import also
from mosaic.injection.session import HookSession


def install(module: ModuleType, session: HookSession) -> None:
    def began(pool: Any, *args: Any, **kwargs: Any) -> None:
        session.vectors.begin(pool, pool.config["num_envs"], resets_later=True)

    also(module.EnvPoolMixin, "reset", began, session.complaints)
