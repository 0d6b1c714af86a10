"""Runs a hook right after a module has been executed, whenever and however that happens.

Modules nobody watches cost one look into a dictionary. The watched ones keep their own loader, so
that whoever reads sources or resources through it finds what is always there.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `start`: every Python process of a run imports this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

    Hook = Callable[[ModuleType], None]


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
