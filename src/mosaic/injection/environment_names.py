"""EnvironmentNames: tells which environments a script uses, by the ids Gymnasium knows them by."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

_MOST = 20  # a script may make as many as it likes


class EnvironmentNames:
    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._told: set[str] = set()

    def seen(self, environment: Any) -> None:
        """An environment, or a vector of them, that was not there before."""
        env_id = None
        with contextlib.suppress(Exception):  # whatever the script calls `spec`
            env_id = environment.spec.id
        if isinstance(env_id, str) and env_id not in self._told and len(self._told) < _MOST:
            self._told.add(env_id)
            self._tell(env_id)
