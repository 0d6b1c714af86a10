"""Starts injection in this process: watches imports, and makes the rest when one comes.

Most Python processes of a run (installers, compilers, resource trackers) import none of the
libraries and shall not notice us: this module, and what it imports, gets by without `typing`,
`functools` and the like, which would double the time such a process takes to start.
"""

from __future__ import annotations

import importlib
import os

from mosaic.injection.complaints import Complaints
from mosaic.injection.import_watch import ImportWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from mosaic.injection.import_watch import Hook
    from mosaic.injection.session import Session

# Hooks are imported with the library they are for.
HOOKS = {
    "gymnasium": "gymnasium_hooks",
    "gym": "gymnasium_hooks",
    "envpool.python.envpool": "envpool_hooks",
    "stable_baselines3.common.monitor": "stable_baselines_hooks",
    "stable_baselines3.common.logger": "stable_baselines_hooks",
    "stable_baselines3.common.vec_env": "stable_baselines_hooks",
    "cloudpickle.cloudpickle": "cloudpickle_hooks",
    "joblib.externals.cloudpickle.cloudpickle": "cloudpickle_hooks",
    "ray.cloudpickle.cloudpickle": "cloudpickle_hooks",
    "torch.utils.tensorboard.writer": "summary_writer_hooks",
    "tensorboardX.writer": "summary_writer_hooks",
    "wandb": "wandb_hooks",
    "wandb.sdk.wandb_run": "wandb_hooks",
}


def start() -> None:
    installer = Installer(Complaints())
    ImportWatch({library: installer.hook(name) for library, name in HOOKS.items()}).install()


class Installer:
    """Installs hooks, which share one session; the first one needs it."""

    def __init__(self, complaints: Complaints) -> None:
        self._complaints = complaints
        self._session: Session | None = None

    def hook(self, name: str) -> Hook:
        def install(module: ModuleType) -> None:
            try:
                hooks: Any = importlib.import_module(f"mosaic.injection.hooks.{name}")
                hooks.install(module, self._shared())
            except Exception as error:  # noqa: BLE001  # the library works without our hook
                self._complaints.say(f"watching {module.__name__}", error)

        return install

    def _shared(self) -> Session:
        if self._session is None:
            from mosaic.injection.session import Session

            self._session = Session(os.environ, self._complaints)
        return self._session
