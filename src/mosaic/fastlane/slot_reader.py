"""Reading a slot: its state, and copies of frames that are whole."""

from __future__ import annotations

from typing import NamedTuple

from mosaic.fastlane.layout import CHANNELS, FRAME, MAX_SIDE, PIXELS_OFFSET, SEQUENCE, STATE
from mosaic.fastlane.segment import Segment
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.tiling import Picture

_TRIES = 5


class SlotState(NamedTuple):
    metrics: Metrics
    frames: int  # published so far
    updated_ns: int  # 0: nobody has written here
    pid: int
    start_ticks: int


def read_state(segment: Segment, slot: int) -> SlotState | None:
    """None when it was being changed at each look, or its writer died within a change."""
    offset = segment.geometry.state_offset(slot)
    for _ in range(_TRIES):
        data = segment.read(offset, SEQUENCE.size + STATE.size)
        (sequence,) = SEQUENCE.unpack_from(data)
        if sequence & 1 or segment.read(offset, SEQUENCE.size) != data[: SEQUENCE.size]:
            continue
        frames, steps, episodes, reward, rolling_return, rate, updated, flags, pid, ticks = (
            STATE.unpack_from(data, SEQUENCE.size)
        )
        metrics = Metrics(steps, episodes, reward, rolling_return, rate, flags)
        return SlotState(metrics, frames, updated, pid, ticks)
    return None


def read_frame(segment: Segment, slot: int, number: int) -> Picture | None:
    """None when that frame is not whole, or no longer there."""
    offset = segment.geometry.frame_offset(slot, number)
    head = segment.read(offset, SEQUENCE.size + FRAME.size)
    (sequence,) = SEQUENCE.unpack_from(head)
    found, width, height = FRAME.unpack_from(head, SEQUENCE.size)
    size = width * height * CHANNELS
    if sequence != 2 * number or found != number or max(width, height) > MAX_SIDE:
        return None
    if not 0 < size <= segment.geometry.frame_bytes:
        return None
    pixels = segment.read(offset + PIXELS_OFFSET, size)
    is_whole = segment.read(offset, SEQUENCE.size) == head[: SEQUENCE.size]
    return Picture(width, height, pixels) if is_whole else None
