"""Stable-Baselines3: Monitor sees environments that no `make` made, the logger has the losses."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mosaic.injection.hooks.mirroring import also, number, whole
from mosaic.injection.session import Session


def install(module: ModuleType, session: Session) -> None:
    monitor, logger = getattr(module, "Monitor", None), getattr(module, "Logger", None)
    if module.__name__.endswith(".monitor") and isinstance(monitor, type):
        session.layers.follow_reset(monitor)
    if module.__name__.endswith(".logger") and isinstance(logger, type):

        def mirror(logger: Any, step: Any = 0) -> None:
            for name, value in logger.name_to_value.items():
                found = number(value)
                if found is not None:
                    session.bridge.metric(str(name), found, whole(step), "logger")

        # Before: it forgets the values once they are written.
        also(logger, "dump", mirror, session.complaints, is_before=True)
