"""SessionFile: where somebody was in the window, kept between its sessions. Blocking, no Qt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.files import atomic_write_json, read_json
from mosaic.paths import Home

Values = dict[str, Any]
_LARGEST = 4_000_000  # bytes; what is larger was not written by us


class SessionFile:
    """Never the reason for a window not to open: what cannot be read is set aside."""

    def __init__(self, home: Home) -> None:
        self.path: Path = home.root / "gui" / "session.json"

    def read(self) -> tuple[Values, str]:
        """What was kept, and a sentence about what was wrong with it."""
        try:
            if self.path.exists() and self.path.stat().st_size > _LARGEST:
                raise ValueError("it is far too large")
            found = read_json(self.path)
            if found is None:
                return {}, ""
            if not isinstance(found, dict):
                raise ValueError("it holds something else")  # noqa: TRY004 (a damaged file)
        except (OSError, ValueError, RecursionError):
            return {}, self._set_aside()
        return {name: part for name, part in found.items() if isinstance(part, dict)}, ""

    def save(self, values: Mapping[str, Any]) -> None:
        """Raises OSError."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write_json(self.path, values)

    def _set_aside(self) -> str:
        aside = self.path.with_suffix(".damaged.json")
        try:
            self.path.replace(aside)
        except OSError as error:
            return f"Where you were last time cannot be read: {error.strerror} ({self.path})"
        return f"Where you were last time could not be read; the file is now {aside}"


def text_of(values: Mapping[str, Any]) -> str:
    """To see whether anything has changed."""
    return json.dumps(values, sort_keys=True, default=str)
