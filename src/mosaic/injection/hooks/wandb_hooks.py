"""Weights & Biases: what is logged, and the folder of the run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from mosaic.injection.hooks.mirroring import also, number, whole
from mosaic.injection.session import HookSession

_DEEPEST = 4  # dictionaries within dictionaries


def install(module: ModuleType, session: HookSession) -> None:
    if module.__name__ == "wandb":

        def begun(*args: Any, **kwargs: Any) -> None:
            folder = getattr(getattr(module, "run", None), "dir", None)
            if folder:
                # The files of a run lie in a folder of its own folder.
                session.bridge.wandb(os.path.dirname(os.path.abspath(folder)))  # noqa: PTH100, PTH120

        also(module, "init", begun, session.complaints)
        return

    def logged(run: Any, data: Any, step: Any = None, *args: Any, **kwargs: Any) -> None:
        at = whole(step if step is not None else getattr(run, "step", None))
        for name, value in flat(data):
            session.bridge.metric(name, value, at, "wandb")

    # Before: afterwards the run's step is the next one. `wandb.log` ends here as well.
    also(module.Run, "log", logged, session.complaints, is_before=True)


def flat(data: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> list[tuple[str, float]]:
    """Its numbers, those of inner dictionaries under dotted names, as W&B shows them."""
    found: list[tuple[str, float]] = []
    for name, value in data.items():
        if isinstance(value, Mapping):
            if depth < _DEEPEST:
                found += flat(value, f"{prefix}{name}.", depth + 1)
            continue
        scalar = number(value)
        if scalar is not None:
            found.append((f"{prefix}{name}", scalar))
    return found
