"""Writers of big frames, killed at any moment while somebody reads all the time (fault 6)."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.fastlane.layout import Geometry
from mosaic.fastlane.segment import make_segment, open_segment, segment_path
from mosaic.fastlane.viewer import ENDED, LIVE, Viewer, read_state
from tests.chaos.figures import record

pytestmark = pytest.mark.chaos

KILLS = 240
PATIENCE_S = 20.0
SIDE = 480
LINE = b"GO\n"

# One process imports, and forks a writer for each line it reads: hundreds of them in a minute.
# A writer shows frames of one shade each as fast as it can, the first of them before it says so.
WRITERS = textwrap.dedent(
    """
    import os, sys
    from pathlib import Path
    from mosaic.fastlane.segment import open_segment
    from mosaic.fastlane.slot_writer import Metrics, SlotWriter, claim_slot

    side = int(sys.argv[2])
    frames = [bytes([shade]) * (side * side * 3) for shade in range(1, 32)]
    for line in sys.stdin:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
            continue
        segment = open_segment(Path(sys.argv[1]))
        slot = claim_slot(segment, set())
        print(os.getpid(), slot, flush=True)
        writer = SlotWriter(segment, slot)
        steps = 0
        while True:
            steps += 1
            writer.publish(side, side, frames[steps % 31], Metrics(steps=steps))
    """
)


@contextlib.contextmanager
def segment_file() -> Iterator[Path]:
    path = segment_path(f"test-{os.getpid()}-{time.time_ns()}")
    make_segment(path, Geometry(1, SIDE * SIDE * 3)).close()
    try:
        yield path
    finally:
        path.unlink()


@contextlib.contextmanager
def writers(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-c", WRITERS, str(path), str(SIDE)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0


class Reader:
    def __init__(self, path: Path) -> None:
        self._viewer = Viewer(path)
        self.whole = self.torn = 0
        self.status = ""

    def look(self) -> bool:
        """True when there was a picture."""
        view = self._viewer.poll()
        self.status = view.status
        if view.picture is None:
            return False
        pixels = view.picture.pixels
        is_whole = pixels.count(pixels[0]) == len(pixels) == SIDE * SIDE * 3
        self.whole += is_whole
        self.torn += not is_whole
        return True

    def look_until(self, status: str, with_picture: bool = False) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not (self.look() or not with_picture) or self.status != status:
            assert time.monotonic() < deadline, f"still {self.status} instead of {status}"


def state_of_death(path: Path) -> str:
    """Where it died: between two frames, within a state, or within a frame."""
    segment = open_segment(path)
    try:
        if read_state(segment, 0) is None:
            return "state"
        words = (segment.read(segment.geometry.frame_offset(0, n), 8) for n in (1, 2, 3))
        return "frame" if any(word[0] & 1 for word in words) else "between"
    finally:
        segment.close()


def test_no_frame_is_torn_and_the_slot_is_taken_over_whenever_a_writer_is_killed() -> None:
    chance = random.Random(11)
    deaths: Counter[str] = Counter()
    with segment_file() as path, writers(path) as process:
        assert process.stdin is not None and process.stdout is not None
        reader = Reader(path)
        for _ in range(KILLS):
            process.stdin.write(LINE)
            process.stdin.flush()
            pid, slot = process.stdout.readline().split()
            assert slot == b"0", "the slot of the dead one was not free"
            reader.look_until(LIVE, with_picture=True)
            # A frame takes some hundred microseconds: any of its moments.
            moment = time.perf_counter_ns() + chance.randrange(8_000_000)
            while time.perf_counter_ns() < moment:
                reader.look()
            os.kill(int(pid), signal.SIGKILL)
            reader.look_until(ENDED)
            deaths[state_of_death(path)] += 1
    record(
        "6",
        f"kill -9 of a writer of {SIDE}x{SIDE} frames — {KILLS} kills, {deaths['frame']} of them "
        f"within a frame, {deaths['state']} within a state: {reader.whole} pictures read, "
        f"{reader.torn} torn, {KILLS}/{KILLS} ends noticed, {KILLS}/{KILLS} slots taken over",
    )
    assert reader.torn == 0
    assert deaths["frame"] >= KILLS // 10
