"""SlotWriter: one environment's place in the segment, filled by the process that steps it."""

from __future__ import annotations

import fcntl
import os
import time
from typing import Any, NamedTuple

from mosaic.fastlane.layout import CHANNELS, FRAME, PIXELS_OFFSET, SEQUENCE, STATE
from mosaic.fastlane.segment import Segment
from mosaic.processes import stat_fields

_COUNTS = 2**48 - 1  # counting on from any of these never overflows a word
_PADDING = bytes(PIXELS_OFFSET - SEQUENCE.size - FRAME.size)


class Metrics(NamedTuple):
    """What is shown beside a frame."""

    steps: int = 0
    episodes: int = 0
    last_reward: float = 0.0
    rolling_return: float = 0.0
    step_rate_hz: float = 0.0
    flags: int = 0  # EVALUATING, PAUSED


def claim_slot(segment: Segment, taken: set[int]) -> int | None:
    """A slot that no living process holds, None when all are held.

    The lock ends with this process, however that ends. It does not keep the process from claiming
    a slot twice: `taken` says which ones it has.
    """
    for slot in range(segment.geometry.slots):
        if slot in taken:
            continue
        where = segment.geometry.state_offset(slot)
        try:
            fcntl.lockf(segment.fd, fcntl.LOCK_EX | fcntl.LOCK_NB, SEQUENCE.size, where)
        except OSError:
            continue
        taken.add(slot)
        return slot
    return None


class SlotWriter:
    """Raises OSError where there is no memory left; what was shown before stays whole."""

    def __init__(self, segment: Segment, slot: int) -> None:
        self._segment, self._slot = segment, slot
        self._state_offset = segment.geometry.state_offset(slot)
        state = segment.read(self._state_offset, SEQUENCE.size + STATE.size)
        # Of whoever had the slot before, or of whoever scribbled over it. A writer that died within
        # a change left the sequence odd.
        self._sequence = SEQUENCE.unpack_from(state)[0] & _COUNTS & ~1
        self._frames: int = STATE.unpack_from(state, SEQUENCE.size)[0] & _COUNTS
        fields = stat_fields(os.getpid())
        self._identity = os.getpid(), int(fields[19]) if fields else 0

    def publish(self, width: int, height: int, pixels: Any, metrics: Metrics) -> None:
        """Pixels are contiguous RGB bytes, of an array or otherwise."""
        size, room = width * height * CHANNELS, self._segment.geometry.frame_bytes
        data = memoryview(pixels)
        if min(width, height) < 1 or size > room or data.nbytes != size:
            raise ValueError(
                f"{data.nbytes} bytes for a frame of {width}x{height}, room for {room}"
            )
        fd, number = self._segment.fd, self._frames + 1
        offset = self._segment.geometry.frame_offset(self._slot, number)
        # As a state's: even when whole. Derived from the number, so it never returns to a value
        # that a slow reader may have seen before its copy.
        os.pwrite(fd, SEQUENCE.pack(2 * number - 1), offset)
        head = FRAME.pack(number, width, height) + _PADDING
        written = os.pwritev(fd, [head, data], offset + SEQUENCE.size)
        if written != len(head) + size:
            raise OSError(f"only {written} bytes of a frame fitted into shared memory")
        os.pwrite(fd, SEQUENCE.pack(2 * number), offset)
        self._frames = number
        self.update(metrics)

    def update(self, metrics: Metrics) -> None:
        fd, offset = self._segment.fd, self._state_offset
        steps, episodes, reward, rolling_return, rate, flags = metrics
        state = STATE.pack(
            self._frames,
            steps,
            episodes,
            reward,
            rolling_return,
            rate,
            time.monotonic_ns(),
            flags,
            *self._identity,
        )
        os.pwrite(fd, SEQUENCE.pack(self._sequence + 1), offset)
        os.pwrite(fd, state, offset + SEQUENCE.size)
        self._sequence += 2
        os.pwrite(fd, SEQUENCE.pack(self._sequence), offset)
