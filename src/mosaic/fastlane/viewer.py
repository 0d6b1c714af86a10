"""Viewer: watches a run. Holds the lease, hands out pictures, and says what is wrong."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

from mosaic.fastlane.layout import (
    CHANNELS,
    FRAME,
    LEASE_NS,
    MAX_SIDE,
    PAUSED,
    PIXELS_OFFSET,
    SEQUENCE,
    STATE,
    BrokenSegmentError,
    Lease,
)
from mosaic.fastlane.segment import Segment, open_segment
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.tiling import Picture, tiled
from mosaic.processes import stat_fields

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


WAITING, LIVE, PAUSED_NOW, STALLED, ENDED, BROKEN = (
    "waiting",
    "live",
    "paused",
    "stalled",
    "ended",
    "broken",
)
NO_STEP = "no step for"  # how the message of a stall begins; the time follows
_STALLED_NS = 10_000_000_000
_LOOK_NS = 100_000_000  # between two looks at whether the writers live


class View(NamedTuple):
    status: str
    message: str = ""
    picture: Picture | None = None  # None when there is nothing newer than before
    metrics: tuple[Metrics, ...] = ()  # of the watched slots that have a writer
    slots: tuple[int, ...] = ()  # these


class SlotView(NamedTuple):
    """One environment of a run."""

    slot: int
    picture: Picture | None  # the newest there is; None before the first
    is_new: bool  # since the last look
    metrics: Metrics
    frames: int  # published so far
    pid: int  # of the process that steps it


class SlotsView(NamedTuple):
    status: str
    message: str = ""
    slots: tuple[SlotView, ...] = ()  # the watched ones that have a writer
    slot_limit: int = 0  # how many there is room for; 0: nobody knows yet

    @property
    def is_new(self) -> bool:
        return any(slot.is_new for slot in self.slots)


class Viewer:
    """Never raises because of what it finds: bytes of others cannot be trusted."""

    def __init__(
        self, path: Path, *, first_slot: int = 0, slot_count: int = 1, interval_s: float = 1 / 30
    ) -> None:
        self._path = path
        self._wanted = first_slot, slot_count, int(interval_s * 1e9)
        self._segment: Segment | None = None
        self._seen: dict[int, int] = {}  # slot: number of the frame shown
        self._pictures: dict[int, Picture] = {}
        self._states: dict[int, SlotState] = {}  # the last whole one of each slot
        self._since_ns = 0  # when this segment was opened
        self._alive_ns = 0  # when a writer was last found alive

    def poll(self) -> View:
        """All watched slots as one picture.

        To be called at least once a second, or nobody counts as watching.
        """
        view = self.poll_slots()
        try:
            picture = tiled([slot.picture for slot in view.slots]) if view.is_new else None
        except BrokenSegmentError as error:
            self._forget()
            return View(BROKEN, self._broken(str(error)))
        metrics = tuple(slot.metrics for slot in view.slots)
        return View(
            view.status, view.message, picture, metrics, tuple(slot.slot for slot in view.slots)
        )

    def poll_slots(self) -> SlotsView:
        """Each watched slot by itself; as often as `poll`, and instead of it."""
        try:
            segment = self._current()
            if segment is None:
                return SlotsView(WAITING, "the run has shown nothing yet")
            self._renew(segment)
            return self._look(segment)
        except BrokenSegmentError as error:
            self._forget()
            return SlotsView(BROKEN, self._broken(str(error)))
        except OSError as error:
            self._forget()
            return SlotsView(BROKEN, self._broken(error.strerror))

    def close(self) -> None:
        """Nobody watches from now on."""
        if self._segment is not None:
            with contextlib.suppress(OSError):  # it ends by itself
                self._segment.set_lease(Lease())
        self._forget()

    def _current(self) -> Segment | None:
        """The segment of the newest attempt: a new one has a new file under the same name."""
        try:
            inode = self._path.lstat().st_ino  # a link is none of ours
        except FileNotFoundError:
            self._alive_ns = 0
            return self._segment  # of a run that is over: its last picture stays
        if self._segment is not None and self._segment.inode != inode:
            self._forget()
        if self._segment is None:
            with contextlib.suppress(FileNotFoundError):  # just gone, or not yet whole
                self._segment = open_segment(self._path)
                self._since_ns = time.monotonic_ns()
        return self._segment

    def _renew(self, segment: Segment) -> None:
        now, lease = time.monotonic_ns(), segment.lease()
        first, count, interval = self._wanted
        # Several viewers share a lease: it covers what all of them want.
        if now < lease.until_ns <= now + LEASE_NS:
            end = max(first + count, lease.first_slot + lease.slot_count)
            first = min(first, lease.first_slot)
            count = max(0, min(end, segment.geometry.slots) - first)
            interval = min(interval, lease.interval_ns or interval)
        segment.set_lease(Lease(now + LEASE_NS, first, count, interval))

    def _look(self, segment: Segment) -> SlotsView:
        first, count, _ = self._wanted
        limit = segment.geometry.slots
        written: dict[int, SlotState] = {}
        for slot in range(first, min(first + count, limit)):
            # A writer that died within a change left nothing to read: what was known before stays.
            state = read_state(segment, slot) or self._states.get(slot)
            if state is not None and state.updated_ns:
                written[slot] = self._states[slot] = state
        if not written:
            return SlotsView(WAITING, "no environment has been stepped yet", slot_limit=limit)
        slots = tuple(self._slot_view(segment, slot, state) for slot, state in written.items())
        return SlotsView(*self._status(list(written.values())), slots, limit)

    def _slot_view(self, segment: Segment, slot: int, state: SlotState) -> SlotView:
        is_new = False
        if state.frames > self._seen.get(slot, 0):
            picture = read_frame(segment, slot, state.frames)
            if picture is not None:
                self._seen[slot], self._pictures[slot] = state.frames, picture
                is_new = True
        shown = self._pictures.get(slot)
        return SlotView(slot, shown, is_new, state.metrics, state.frames, state.pid)

    def _broken(self, reason: str | None) -> str:
        return f"{self._path.name} cannot be read: {reason}"

    def _status(self, states: list[SlotState]) -> tuple[str, str]:
        """Looks into /proc only now and then."""
        now = time.monotonic_ns()
        if now - self._alive_ns >= _LOOK_NS:
            if not any(is_running(state) for state in states):
                return ENDED, "the process that showed this is over"
            self._alive_ns = now
        return live_status(states, self._since_ns, now)

    def _forget(self) -> None:
        if self._segment is not None:
            self._segment.close()
        self._segment = None
        for known in (self._seen, self._pictures, self._states):
            known.clear()
        self._alive_ns = 0


def live_status(states: list[SlotState], since_ns: int, now_ns: int) -> tuple[str, str]:
    """What living writers are doing, as far as who came at `since_ns` can tell: status, message.

    While nobody watches nothing is written, so that earlier silence means nothing.
    """
    if any(state.metrics.flags & PAUSED for state in states):
        return PAUSED_NOW, "the run is paused"
    silent_ns = now_ns - max(since_ns, *(state.updated_ns for state in states))
    if silent_ns > _STALLED_NS:
        return STALLED, f"{NO_STEP} {silent_ns // 1_000_000_000} s"
    return LIVE, ""


def is_running(state: SlotState) -> bool:
    fields = stat_fields(state.pid) if 0 < state.pid < 2**31 else None
    return fields is not None and int(fields[19]) == state.start_ticks and fields[0] not in "ZX"
