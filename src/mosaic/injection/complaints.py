"""What went wrong within injection: one short line each, and the script goes on."""

from __future__ import annotations

import sys

_LONGEST = 200


class Complaints:
    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, what: str, error: BaseException) -> None:
        """Once per `what`, on standard error, if there is any."""
        if what in self._said:
            return
        self._said.add(what)
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        try:  # noqa: SIM105  # without `contextlib`: every Python process of a run imports this
            print(f"mosaic: {what} failed ({reason})", file=sys.stderr)
        except Exception:  # noqa: BLE001  # whatever the script has put in its place
            pass
