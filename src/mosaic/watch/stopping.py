"""Which signal a script gets when, once it has to stop. Pure."""

from __future__ import annotations

import signal

DEFAULT_GRACE_S = 10.0
# Shares of the time until the run host kills everything. Ctrl-C comes first: it is what scripts
# know, and many save on it. The rest of the time is ours, to report the end.
_RUNGS = ((0.0, signal.SIGINT), (0.5, signal.SIGTERM), (0.75, signal.SIGKILL))


class StopLadder:
    """Each signal is due once, in order."""

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._taken = 0

    def due(self, now: float, grace_s: float | None) -> list[signal.Signals]:
        """`grace_s` may become known only after the first look."""
        grace_s = DEFAULT_GRACE_S if grace_s is None else grace_s
        share = (now - self._started_at) / grace_s if grace_s > 0 else 1.0
        signals = [number for at, number in _RUNGS[self._taken :] if share >= at]
        self._taken += len(signals)
        return signals
