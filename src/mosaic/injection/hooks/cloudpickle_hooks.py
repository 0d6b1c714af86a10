"""cloudpickle, and its copies in other libraries: classes of the script itself travel by value.

What is sent is the class as the script wrote it: counted here and counted there, each would count
its steps twice. Where it arrives it is followed anew.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from mosaic.injection.hooks.mirroring import also
from mosaic.injection.layers import original_method
from mosaic.injection.session import HookSession


def install(module: ModuleType, session: HookSession) -> None:
    pickled: Any = module
    extract = pickled._extract_class_dict

    @functools.wraps(extract)
    def _extract_class_dict(cls: type) -> dict[str, Any]:
        found: dict[str, Any] = extract(cls)
        return {name: original_method(value) for name, value in found.items()}

    def arrived(kind: type, *args: Any, **kwargs: Any) -> None:
        session.subclasses.filled(kind)

    pickled._extract_class_dict = _extract_class_dict
    also(module, "_class_setstate", arrived, session.complaints)
