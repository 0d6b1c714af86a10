"""Lane: the live view from inside a training process. Taps, and the pulse that wakes them.

A step of an environment looks at one attribute of its tap, `is_due`. A thread sets it, when
somebody watches and the next frame is due; with nobody watching it looks at the lease a few times
a second and no environment ever renders.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.fastlane.layout import CHANNELS, BrokenSegmentError, Geometry, Lease
from mosaic.fastlane.segment import Segment, make_segment
from mosaic.fastlane.settings import SINGLE, Pacer, Settings
from mosaic.fastlane.slot_writer import Metrics, SlotWriter, claim_slot

# -- Frames as they fit into a slot: RGB, small enough, contiguous


class FittedFrame(NamedTuple):
    width: int
    height: int
    pixels: Any  # an array of bytes


def fitted_size(width: int, height: int, max_dim: int, max_bytes: int) -> tuple[int, int]:
    """As large as allowed, with the same proportions, never larger than it is."""
    scale = min(1.0, max_dim / max(width, height))
    scale = min(scale, math.sqrt(max_bytes / (width * height * CHANNELS)))
    return max(1, int(width * scale)), max(1, int(height * scale))


class Fitter:
    """Keeps the indices of the last size: an environment's frames are nearly always alike."""

    def __init__(self, max_dim: int, max_bytes: int) -> None:
        self._max_dim, self._max_bytes = max_dim, max_bytes
        self._key: tuple[int, int] | None = None
        self._size = (0, 0)
        self._shrinking: Any = None  # which rows and pixels make one

    def __call__(self, frame: Any) -> FittedFrame:
        """Raises ValueError for anything but a picture."""
        import numpy as np

        array = np.asarray(frame)
        if array.ndim == 2:
            array = np.repeat(array[:, :, None], CHANNELS, 2)  # grey
        if array.ndim != 3 or array.shape[2] < CHANNELS or 0 in array.shape:
            raise ValueError(f"no picture: an array of shape {array.shape}")
        if array.dtype != np.uint8:
            top = 255.0 if array.dtype.kind == "f" and float(array.max()) <= 1.0 else 1.0
            array = np.clip(array * top, 0, 255).astype(np.uint8)
        height, width = array.shape[:2]
        pixels = np.ascontiguousarray(array[:, :, :CHANNELS])
        if self._key != (height, width):
            self._remember(np, height, width)
        if self._shrinking is not None:
            upper, lower, left, right = self._shrinking
            pixels = _mean(np, pixels[upper], pixels[lower])
            # Whole pixels are taken at once: several times as fast as indexing columns.
            whole = pixels.view(np.dtype((np.void, CHANNELS))).ravel()
            pixels = _mean(np, whole.take(left).view(np.uint8), whole.take(right).view(np.uint8))
        return FittedFrame(*self._size, pixels.view(np.uint8))

    def _remember(self, np: Any, height: int, width: int) -> None:
        self._key = (height, width)
        self._size = fitted_size(width, height, self._max_dim, self._max_bytes)
        self._shrinking = None
        if self._size != (width, height):
            new_width, new_height = self._size
            # Two in each direction: of one alone, lines of a single pixel would be lost. They lie
            # around the middle of the new pixel, so that the picture does not shift.
            upper, lower = (
                ((np.arange(new_height) + part) * height / new_height).astype(np.intp)
                for part in (0.25, 0.75)
            )
            left, right = (
                ((np.arange(new_width) + part) * width / new_width).astype(np.intp)
                for part in (0.25, 0.75)
            )
            row = np.arange(new_height)[:, None] * width
            self._shrinking = upper, lower, (row + left).ravel(), (row + right).ravel()


def _mean(np: Any, one: Any, other: Any) -> Any:
    """Of bytes, rounded down, without the room that their sum would need."""
    return (one & other) + ((one ^ other) >> np.uint8(1))


# -- Taps and lanes

_IDLE_S = 0.2  # between two looks for a viewer
_SHORTEST_S, _LONGEST_S = 0.005, 2.5


class Tap:
    """One environment. `is_due` is all a step has to look at; then `show` renders."""

    def __init__(
        self,
        writer: SlotWriter,
        slot: int,
        fitter: Fitter,
        pacer: Pacer,
        render: Callable[[], Any],
        metrics: Callable[[], Metrics],
        on_error: Callable[[str], None],
    ) -> None:
        self.is_due = False
        self.slot = slot
        self._writer, self._fitter, self._pacer = writer, fitter, pacer
        self._render, self._metrics, self._on_error = render, metrics, on_error
        self._last: tuple[float, int] | None = None  # time and steps of the last frame
        self.is_broken = False
        self._loss = ""  # why there is no segment any more

    def set_pace(self, interval_s: float, budget: float) -> None:
        """As viewers wish, and with its share of the time."""
        self._pacer.interval_s, self._pacer.budget = interval_s, budget

    def wake(self, now: float) -> None:
        """By the pulse: the next step shows what it sees, if it is time."""
        if not self.is_broken and self._pacer.is_due(now):
            self.is_due = True

    def due_in(self, now: float) -> float:
        """Seconds until there is something to do for the pulse."""
        if self.is_due or self.is_broken:
            return self._pacer.interval_s  # the step that shows it has yet to come
        return self._pacer.next_at - now

    def lose(self, reason: str) -> None:
        """Called by the pulse: the segment is broken. The next step reports it."""
        self._loss = reason
        self.is_due = True

    def show(self) -> None:
        """Called by the thread that steps the environment. An error ends the view, not the
        training.
        """
        self.is_due = False
        started = time.monotonic()
        try:
            if self._loss:
                raise OSError(f"its shared memory is of no use: {self._loss}")
            frame = self._render()
            if frame is None:
                raise ValueError("it rendered nothing")
            fitted = self._fitter(frame)
            metrics = self._with_rate(self._metrics(), started)
            self._writer.publish(*fitted, metrics)
        except Exception as error:  # noqa: BLE001  # whatever environments and drivers come up with
            self.is_broken = True
            self._on_error(f"no live view of environment {self.slot}: {error}")
        self._pacer.rendered(started, time.monotonic())

    def tell(self) -> None:
        """The metrics alone: something changed that no frame shows, such as a pause."""
        if not self.is_broken:
            with contextlib.suppress(OSError):  # the next frame says that there is no memory
                self._writer.update(self._metrics())

    def _with_rate(self, metrics: Metrics, now: float) -> Metrics:
        last, self._last = self._last, (now, metrics.steps)
        if last is None or now <= last[0]:
            return metrics
        return metrics._replace(step_rate_hz=(metrics.steps - last[1]) / (now - last[0]))


class Lane:
    """All taps of this process. After a fork the child has a lane of its own, without taps."""

    def __init__(
        self,
        settings: Settings,
        on_error: Callable[[str], None],
        on_due: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_due` is called by the pulse when taps are due, for who would rather not ask each."""
        self._settings, self._on_error, self._on_due = settings, on_error, on_due
        self._start_over()
        os.register_at_fork(after_in_child=self._start_over)

    def _start_over(self) -> None:
        self._lock = threading.Lock()  # another thread may have held the old one during the fork
        self._segment: Segment | None = None
        self._taken: set[int] = set()
        self._taps: list[Tap] = []
        self._environments = 0
        self._pulse: threading.Thread | None = None
        self._ended = threading.Event()

    def tap(self, render: Callable[[], Any], metrics: Callable[[], Metrics]) -> Tap | None:
        """A tap for one more environment; None when it is not to be seen."""
        with self._lock:
            number = self._environments
            self._environments += 1
            settings = self._settings
            if settings.mode == SINGLE and number != settings.slot:
                return None
            try:
                return self._make_tap(render, metrics)
            except (OSError, BrokenSegmentError) as error:
                self._on_error(f"no live view: {error}")
                return None

    def _make_tap(self, render: Callable[[], Any], metrics: Callable[[], Metrics]) -> Tap | None:
        settings = self._settings
        if self._segment is None:
            geometry = Geometry.within(settings.slots, settings.max_dim)
            self._segment = make_segment(Path(settings.segment), geometry)
        slot = claim_slot(self._segment, self._taken)
        if slot is None:
            return None
        writer = SlotWriter(self._segment, slot)
        writer.update(metrics())
        fitter = Fitter(settings.max_dim, self._segment.geometry.frame_bytes)
        pacer = Pacer(settings.interval_s, settings.budget)
        tap = Tap(writer, slot, fitter, pacer, render, metrics, self._on_error)
        self._taps.append(tap)
        if self._pulse is None:
            self._pulse = threading.Thread(
                target=self._beat,
                args=(self._segment, self._ended),
                name="mosaic-fastlane",
                daemon=True,
            )
            self._pulse.start()
        return tap

    def release(self, tap: Tap) -> None:
        """Its environment is closed: another one may have the slot."""
        with self._lock:
            if tap in self._taps:
                self._taps.remove(tap)
                self._taken.discard(tap.slot)

    def close(self) -> None:
        """No environment is left. What was shown last stays for those who watch."""
        with self._lock:
            segment, pulse = self._segment, self._pulse
            self._ended.set()
            self._start_over()
        if pulse is not None:
            pulse.join()
        if segment is not None:
            segment.close()

    def _beat(self, segment: Segment, ended: threading.Event) -> None:
        pause_s = 0.0
        while not ended.wait(pause_s):
            try:
                lease = segment.lease()
            except (OSError, BrokenSegmentError) as error:
                for tap in self._taps:
                    tap.lose(str(error))
                self._on_due()
                return
            pause_s = self._wake(lease)

    def _wake(self, lease: Lease) -> float:
        """Wakes the taps somebody watches; returns how long to sleep."""
        now = time.monotonic()
        watched = [tap for tap in self._taps if lease.covers(tap.slot, int(now * 1e9))]
        if not watched:
            return _IDLE_S
        # The lease is as trustworthy as any bytes that others can write.
        wished_s = min(lease.interval_ns / 1e9, _LONGEST_S)
        interval_s = max(self._settings.interval_s, wished_s)
        for tap in watched:
            tap.set_pace(interval_s, self._settings.budget / len(watched))
            tap.wake(now)
        if any(tap.is_due for tap in watched):
            self._on_due()
        # No sooner than needed: each time the training has to hand over the interpreter.
        pause_s = min(tap.due_in(now) for tap in watched)
        return min(max(_SHORTEST_S, pause_s), _LONGEST_S)
