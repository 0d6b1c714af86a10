"""What people should know about a run: in its journal, its log and its analytics.json."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from mosaic.worker import Run, write_manifest

MAX_NOTES = 1_000
_LISTED = 100


class Notes:
    """Each sentence once, however many processes of the script say it."""

    def __init__(self, run: Run[Any]) -> None:
        self._run = run
        self._said: dict[str, None] = {}
        self._kept = 0

    def say(self, text: str) -> bool:
        """False when there were too many already."""
        if text in self._said:
            return True
        if len(self._said) >= MAX_NOTES:
            return False
        self._said[text] = None
        self._run.note(text)
        with contextlib.suppress(OSError, ValueError):  # nobody listens any more
            print(f"mosaic: {text}", file=sys.stderr, flush=True)
        return True

    def keep(self) -> None:
        """With what the run leaves behind, where people find it while it runs, too."""
        listed = list(self._said)[:_LISTED]
        if len(listed) > self._kept:
            self._kept = len(listed)
            write_manifest(self._run, metadata={"remarks": listed})
