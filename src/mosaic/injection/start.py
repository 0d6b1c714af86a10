"""Starts injection in this process: watches imports, and makes the rest when one comes."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mosaic.injection.complaints import Complaints
from mosaic.injection.import_watch import ImportWatch

if TYPE_CHECKING:
    from mosaic.injection.session import Session

# Hooks are imported with the library they are for: most Python processes of a run (installers,
# compilers, resource trackers) import none of these and shall not notice us.
HOOKS = {
    "gymnasium": "gymnasium_hooks",
    "gym": "gymnasium_hooks",
    "stable_baselines3.common.monitor": "stable_baselines_hooks",
    "stable_baselines3.common.logger": "stable_baselines_hooks",
    "torch.utils.tensorboard.writer": "summary_writer_hooks",
    "tensorboardX.writer": "summary_writer_hooks",
    "wandb": "wandb_hooks",
    "wandb.sdk.wandb_run": "wandb_hooks",
}


def start() -> None:
    complaints = Complaints()
    session = _once(lambda: _session(complaints))
    ImportWatch(
        {
            library: functools.partial(_install, hook, session, complaints)
            for library, hook in HOOKS.items()
        }
    ).install()


def _install(
    hook: str, session: Callable[[], Session], complaints: Complaints, module: ModuleType
) -> None:
    try:
        hooks: Any = importlib.import_module(f"mosaic.injection.hooks.{hook}")
        hooks.install(module, session())
    except Exception as error:  # noqa: BLE001  # the library works without our hook
        complaints.say(f"watching {module.__name__}", error)


def _session(complaints: Complaints) -> Session:
    from mosaic.injection.session import Session

    return Session(os.environ, complaints)


def _once(make: Callable[[], Session]) -> Callable[[], Session]:
    return functools.lru_cache(maxsize=1)(make)
