"""Starts injection in this process: watches imports, and makes the rest when one comes.

Most Python processes of a run (installers, compilers, resource trackers) import none of the
libraries and must not notice us: this module, and what it imports, gets by without `typing`,
`functools` and the like, which would double the time such a process takes to start.
"""

from __future__ import annotations

import importlib
import os
import sys

from mosaic.injection.complaints import Complaints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

    from mosaic.injection.session import HookSession

    Hook = Callable[[ModuleType], None]


# Modules nobody watches cost one look into a dictionary. The watched ones keep their own loader, so
# that whoever reads sources or resources through it finds what is always there.


class ImportWatch:
    """A finder for `sys.meta_path`. Hooks do not raise: they deal with their own errors."""

    def __init__(self, hooks: Mapping[str, Hook]) -> None:
        self._hooks = dict(hooks)

    def install(self) -> None:
        sys.meta_path.insert(0, self)
        for name, hook in self._hooks.items():
            module = sys.modules.get(name)
            if module is not None:
                hook(module)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        hook = self._hooks.get(name)
        if hook is None:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                _run_after_execution(spec.loader, hook)
                return spec
        return None


def _run_after_execution(loader: Any, hook: Hook) -> None:
    # A loader that is a class serves all modules of its kind, and one that does not execute
    # modules in the usual way is not ours to change.
    if loader is None or isinstance(loader, type) or not hasattr(loader, "exec_module"):
        return
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        loader.__dict__.pop("exec_module", None)
        execute(module)
        hook(module)

    try:
        loader.exec_module = exec_module
    except AttributeError:
        return  # a loader without room for it: the module stays as it is


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
        self._session: HookSession | None = None

    def hook(self, name: str) -> Hook:
        def install(module: ModuleType) -> None:
            try:
                hooks: Any = importlib.import_module(f"mosaic.injection.hooks.{name}")
                hooks.install(module, self._shared())
            except Exception as error:  # noqa: BLE001  # the library works without our hook
                self._complaints.say(f"watching {module.__name__}", error)

        return install

    def _shared(self) -> HookSession:
        if self._session is None:
            from mosaic.injection.session import HookSession

            self._session = HookSession(os.environ, self._complaints)
        return self._session
