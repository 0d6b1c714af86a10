"""FastLane between real processes: killed writers, no torn frames, slots that become free again."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mosaic.fastlane.layout import Geometry
from mosaic.fastlane.segment import make_segment, open_segment, segment_path
from mosaic.fastlane.viewer import Viewer, read_state
from tests.waiting import PATIENCE_S

WIDTH, HEIGHT = 320, 240

# Every frame is of one shade, so a torn one shows.
WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from mosaic.fastlane.layout import Geometry
    from mosaic.fastlane.segment import make_segment
    from mosaic.fastlane.slot_writer import Metrics, SlotWriter, claim_slot

    segment = make_segment(Path(sys.argv[1]), Geometry(4, 320 * 240 * 3))
    slot = claim_slot(segment, set())
    print(slot, flush=True)
    if slot is None:
        raise SystemExit(0)
    writer = SlotWriter(segment, slot)
    frames = [bytes([shade]) * (320 * 240 * 3) for shade in range(256)]
    steps = 0
    while True:
        steps += 1
        writer.publish(320, 240, frames[steps % 256], Metrics(steps=steps))
    """
)


@pytest.fixture
def path() -> Iterator[Path]:
    path = segment_path(f"test-{time.time_ns()}")
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture
def writers() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def start_writer(path: Path, writers: list[subprocess.Popen[str]]) -> tuple[str, int]:
    """Returns the slot it claimed, and its place in `writers`."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    writers.append(process)
    assert process.stdout is not None
    return process.stdout.readline().strip(), len(writers) - 1


def watch(viewer: Viewer, pictures: int) -> int:
    """How many of so many pictures were torn."""
    torn = seen = 0
    deadline = time.monotonic() + PATIENCE_S
    while seen < pictures:
        assert time.monotonic() < deadline, f"{seen} of {pictures} pictures came"
        picture = viewer.poll().picture
        if picture is not None:
            seen += 1
            assert (picture.width, picture.height) == (WIDTH, HEIGHT)
            torn += picture.pixels.count(picture.pixels[0]) != len(picture.pixels)
    return torn


def wait_for_the_end(viewer: Viewer) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while viewer.poll().status not in ("ended", "waiting"):  # waiting: killed within a change
        assert time.monotonic() < deadline


def test_no_frame_is_torn_whenever_its_writer_is_killed(
    path: Path, writers: list[subprocess.Popen[str]]
) -> None:
    viewer = Viewer(path)
    for _ in range(10):
        slot, _ = start_writer(path, writers)
        assert slot == "0"  # free again, as its holder is dead
        assert watch(viewer, 30) == 0
        writers[-1].kill()
        writers[-1].wait(PATIENCE_S)
        wait_for_the_end(viewer)
    viewer.close()


def test_each_process_has_a_slot_of_its_own(
    path: Path, writers: list[subprocess.Popen[str]]
) -> None:
    slots = [start_writer(path, writers)[0] for _ in range(5)]
    assert sorted(slots[:4]) == ["0", "1", "2", "3"]
    assert slots[4] == "None"  # all are taken
    victim = slots.index("2")
    writers[victim].kill()
    writers[victim].wait(PATIENCE_S)
    assert start_writer(path, writers)[0] == "2"


def test_a_killed_reader_is_not_missed(path: Path, writers: list[subprocess.Popen[str]]) -> None:
    make_segment(path, Geometry(4, WIDTH * HEIGHT * 3)).close()
    reader = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys\n"
            "from pathlib import Path\n"
            "from mosaic.fastlane.viewer import Viewer\n"
            "viewer = Viewer(Path(sys.argv[1]))\n"
            "print('ready', flush=True)\n"
            "while True: viewer.poll()\n",
            str(path),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    writers.append(reader)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "ready\n"
    start_writer(path, writers)
    reader.kill()
    reader.wait(PATIENCE_S)
    segment = open_segment(path)
    before = read_state(segment, 0)
    with closing(Viewer(path)) as viewer:
        assert watch(viewer, 20) == 0
    after = read_state(segment, 0)
    assert before is not None
    assert after is not None
    assert after.frames > before.frames
    segment.close()
