"""Keeps the values of secrets out of the journal, whatever a worker puts into its events.

The run host masks what a worker prints, but the journal is the worker's own file. Which variables
are secret is told by the daemon, and by their names when the worker runs alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.secret_names import is_secret_name
from mosaic.contracts.secret_text import secret_spellings
from mosaic.contracts.worker_environment import SECRET_NAMES
from mosaic.logs import MASK

# Written by the SDK itself, and without them an event belongs to nobody.
_OWN_FIELDS = frozenset({"type", "run_id", "agent_id", "worker_id"})


class SecretMask:
    def __init__(self, environ: Mapping[str, str]) -> None:
        told = environ.get(SECRET_NAMES, "").split(",")
        spellings: set[str] = set()
        for name, value in environ.items():
            if name in told or is_secret_name(name):
                spellings |= secret_spellings(value)
        # The longest first, so that no rest of one remains behind the mask of a shorter one.
        self._values = sorted(spellings, key=len, reverse=True)
        self._encoded = tuple({json.dumps(value)[1:-1] for value in spellings})

    def apply(self, lines: str) -> str:
        """Journal lines, each with its newline, without any secret in them."""
        if not self._is_in(lines):
            return lines
        return "".join(
            self._masked(line) if self._is_in(line) else line
            for line in lines.splitlines(keepends=True)
        )

    def _is_in(self, text: str) -> bool:
        return any(encoded in text for encoded in self._encoded)

    def _masked(self, line: str) -> str:
        # In the texts only: a secret made of digits must not tear a number apart.
        event = {
            key: value if key in _OWN_FIELDS else self._masked_value(value)
            for key, value in json.loads(line).items()
        }
        return json.dumps(event, separators=(",", ":")) + "\n"

    def _masked_value(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._values:
                value = value.replace(secret, MASK)
            return value
        if isinstance(value, dict):
            return {
                self._masked_value(key): self._masked_value(item) for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._masked_value(item) for item in value]
        return value
