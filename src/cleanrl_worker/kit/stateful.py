"""Stateful: whatever can be put into a checkpoint and brought back from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Stateful(Protocol):
    """Modules and optimisers of torch fit, and so do our environments, buffers and normalisers.

    A state is made of mappings with string keys, lists, torch tensors, numpy arrays and JSON
    scalars (integers of any size included); nothing else, so that no checkpoint needs pickle.
    """

    def state_dict(self) -> Mapping[str, Any]: ...

    def load_state_dict(self, state: Any, /) -> Any: ...
