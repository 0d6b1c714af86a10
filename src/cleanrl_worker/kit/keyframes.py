"""KeyframeSchedule: how often the exact state is recorded, so that every episode is near one."""

from __future__ import annotations

# Until the next keyframe: what simulating one environment again takes, and steps. The latter
# because the actions on the way travel to whoever replays.
REPLAY_S = 2.0
MAX_STEPS = 20_000
# With each further amount of this the keyframes become half as frequent.
THINNING_BYTES = 64_000_000


class KeyframeSchedule:
    """`share`: the part of a batch step's duration that one environment takes."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._steps = 0
        self._seconds = 0.0
        self._is_first = True

    def add(self, steps: int, step_s: float) -> None:
        """So many steps of the batch were taken, one of which took so long."""
        self._steps += steps
        self._seconds += steps * step_s * self._share

    def is_due(self, keyframe_bytes: int) -> bool:
        scarcity = 2 ** (keyframe_bytes // THINNING_BYTES)
        return (
            self._is_first
            or self._steps >= MAX_STEPS * scarcity
            or self._seconds >= REPLAY_S * scarcity
        )

    def restart(self) -> None:
        self._steps, self._seconds, self._is_first = 0, 0.0, False
