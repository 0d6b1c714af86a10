"""A run's shared memory, written by the test itself, which so is the living process behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mosaic.fastlane.layout import Geometry
from mosaic.fastlane.segment import Segment, make_segment, segment_path
from mosaic.fastlane.slot_writer import Metrics, SlotWriter

WIDTH, HEIGHT = 30, 20


class LiveSegment:
    def __init__(self, run_id: str, slots: int) -> None:
        self.path = segment_path(run_id)
        self.segment: Segment = make_segment(self.path, Geometry(slots, WIDTH * HEIGHT * 3))
        self._writers = [SlotWriter(self.segment, slot) for slot in range(slots)]

    def show(self, slot: int, shade: int, metrics: Metrics | None = None) -> None:
        pixels = bytes([shade]) * (WIDTH * HEIGHT * 3)
        self._writers[slot].publish(WIDTH, HEIGHT, pixels, metrics or Metrics())

    def show_all(self, shade: int, metrics: Metrics | None = None) -> None:
        for slot in range(len(self._writers)):
            self.show(slot, shade, metrics)

    @property
    def is_watched(self) -> bool:
        """Somebody holds a lease."""
        return self.segment.lease().until_ns != 0

    def replace_by(self, content: bytes) -> None:
        self.path.unlink()
        self.path.write_bytes(content)


@contextmanager
def live_segment(run_id: str, slots: int = 4) -> Iterator[LiveSegment]:
    made = LiveSegment(run_id, slots)
    try:
        yield made
    finally:
        made.segment.close()
        made.path.unlink(missing_ok=True)
