"""A live run's segment, scribbled over all the time while every kind of viewer looks (fault 6)."""

from __future__ import annotations

import os
import random
import time

import pytest

from mosaic.fastlane.layout import (
    CHANNELS,
    FRAME,
    LEASE_OFFSET,
    MAX_SIDE,
    SEQUENCE,
    STATE,
    Geometry,
    pack_header,
)
from mosaic.fastlane.segment import Segment, open_segment, segment_path
from mosaic.fastlane.viewer import Viewer
from tests.chaos.chaos_daemon import chaos_daemon
from tests.chaos.figures import record
from tests.chaos.live_runs import SCRIPT, FramesProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

STEPS = 5500
SECONDS = 6.0
STYLES = ("kitty", "blocks", "sixel", "ascii")
LARGE_WORDS = (0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)


class Scribbler:
    """Writes what nobody should, so that viewers get as far as possible before they notice."""

    def __init__(self, segment: Segment, chance: random.Random) -> None:
        self._segment, self._chance = segment, chance
        self._number = 10**6
        self.count = 0

    def scribble(self) -> None:
        self.count += 1
        self._chance.choice((self._word, self._noise, self._frame, self._mend))()

    @property
    def _geometry(self) -> Geometry:
        return self._segment.geometry

    def _write(self, data: bytes, offset: int) -> None:
        os.pwrite(self._segment.fd, data, offset)

    def _places(self) -> list[int]:
        """Where headers, leases, states and frames begin."""
        slots = range(self._geometry.slots)
        frames = [self._geometry.frame_offset(slot, n) for slot in slots for n in (1, 2, 3)]
        return [0, LEASE_OFFSET, *map(self._geometry.state_offset, slots), *frames]

    def _word(self) -> None:
        where = self._chance.choice(self._places()) + 8 * self._chance.randrange(11)
        value = self._chance.choice((*LARGE_WORDS, self._chance.getrandbits(64)))
        self._write(value.to_bytes(8, "little"), where)

    def _noise(self) -> None:
        self._write(self._chance.randbytes(96), self._chance.choice(self._places()))

    def _frame(self) -> None:
        """A picture of any proportions that its place has room for, beside those of the run."""
        self._number += 1
        slot, number = self._chance.randrange(1, self._geometry.slots), self._number
        width = self._chance.choice((1, 2, 7, 480, 4000, MAX_SIDE, MAX_SIDE + 1))
        height = self._chance.randint(1, max(1, self._geometry.frame_bytes // CHANNELS // width))
        offset = self._geometry.frame_offset(slot, number)
        self._write(SEQUENCE.pack(2 * number) + FRAME.pack(number, width, height), offset)
        numbers = (self._chance.choice((0.0, float("nan"), float("inf"), -1e308)),) * 3
        steps = self._chance.getrandbits(64)
        now = time.monotonic_ns()
        state = STATE.pack(number, steps, steps, *numbers, now, 0, os.getpid(), 1)
        self._write(SEQUENCE.pack(2 * number) + state, self._geometry.state_offset(slot))

    def _mend(self) -> None:
        self._write(pack_header(self._geometry), 0)


def test_no_viewer_and_no_training_breaks_under_constant_scribbling() -> None:
    chance = random.Random(13)
    pictures = 0
    with chaos_daemon() as daemon:
        run_id = SCRIPT.submit(daemon, STEPS)
        path = segment_path(run_id)
        wait_until(path.exists, 20, "the run's segment")
        viewers = [FramesProcess(daemon, run_id, "--style", style) for style in STYLES]
        try:
            for viewer in viewers:
                viewer.wait_for("live  ")
            segment = open_segment(path)
            scribbler, reader = Scribbler(segment, chance), Viewer(path, slot_count=4)
            statuses = set()
            deadline = time.monotonic() + SECONDS
            while time.monotonic() < deadline:
                for _ in range(20):
                    scribbler.scribble()
                view = reader.poll()
                statuses.add(view.status)
                pictures += view.picture is not None
            reader.close()
            segment.close()
            for viewer in viewers:
                assert viewer.process.poll() is None, viewer.text[-1000:]
                viewer.quit()
        finally:
            ended = [viewer.wait() for viewer in viewers]
        daemon.wait_over(run_id, 60)
        SCRIPT.assert_complete(daemon, run_id, STEPS)
    record(
        "6",
        f"a segment scribbled over {scribbler.count} times in {SECONDS:.0f} s — {len(ended)} "
        f"viewers in as many styles ended with status {set(ended)}, {pictures} pictures of any "
        f"size, statuses {', '.join(sorted(statuses))}; the training complete",
    )
    assert ended == [0] * len(STYLES)
    assert pictures > 20
