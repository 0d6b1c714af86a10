"""Stable-Baselines3: Monitor sees environments that no `make` made, the logger has the losses, and
vectors may be of the script's own."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mosaic.injection.hooks.mirroring import also, number, tell_purpose, whole
from mosaic.injection.session import HookSession


def install(module: ModuleType, session: HookSession) -> None:
    monitor, logger = getattr(module, "Monitor", None), getattr(module, "Logger", None)
    if module.__name__.endswith(".monitor") and isinstance(monitor, type):
        session.layers.follow_reset(monitor)
    if module.__name__.endswith(".vec_env"):
        _follow_vectors(module, session)
    if module.__name__.endswith(".logger") and isinstance(logger, type):

        def mirror(logger: Any, step: Any = 0) -> None:
            for name, value in logger.name_to_value.items():
                found = number(value)
                if found is not None:
                    session.bridge.metric(str(name), found, whole(step), "logger")

        # Before: it forgets the values once they are written.
        also(logger, "dump", mirror, session.complaints, is_before=True)


def _follow_vectors(module: Any, session: HookSession) -> None:
    # The environments of these are followed one by one.
    collections = (module.DummyVecEnv, module.SubprocVecEnv, module.VecEnvWrapper)

    def began(envs: Any) -> None:
        # Wrappers pass over `step` of the vector itself.
        session.vectors.begin(envs, envs.num_envs, resets_later=False, step="step_wait")

    def look(kind: type) -> None:
        if not issubclass(kind, collections):
            session.vectors.follow_reset(kind, began)

    session.subclasses.follow(module.VecEnv, look)
    tell_purpose(module.SubprocVecEnv, module.SubprocVecEnv.env_method, session)
