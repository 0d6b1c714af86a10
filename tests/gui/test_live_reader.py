"""The reader: newest first, never a queue, and nobody watches when it has stopped."""

from __future__ import annotations

import os
import threading
import time

from pytestqt.qtbot import QtBot

from mosaic.fastlane.slot_writer import Metrics
from mosaic.gui.live.frame_reader import FrameReader
from mosaic.gui.state.live_watch import LiveFrames
from tests.gui.conftest import WAIT_MS
from tests.gui.live_segment import live_segment
from tests.waiting import wait_until

# Tests in other processes have segments too: each has a name of its own.
RUN = f"01LIVEREADER{os.getpid():014}"


def reader_threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name == "mosaic-gui-frames"]


def test_pictures_arrive_and_the_lease_ends_with_the_reader(qtbot: QtBot) -> None:
    with live_segment(RUN) as segment:
        reader = FrameReader(RUN, slot_count=4)
        arrived: list[LiveFrames] = []
        reader.arrived.connect(arrived.append)
        reader.start()
        qtbot.waitUntil(lambda: segment.is_watched, timeout=WAIT_MS)
        segment.show_all(7, Metrics(steps=3))
        qtbot.waitUntil(
            lambda: bool(arrived) and len(arrived[-1].tiles) == 4 and arrived[-1].has_picture,
            timeout=WAIT_MS,
        )
        assert arrived[-1].status == "live" and arrived[-1].metrics[0].steps == 3
        reader.stop()
        assert not segment.is_watched and not reader_threads()
        before = len(arrived)
        segment.show_all(8)
        qtbot.wait(50)
        assert len(arrived) == before
        reader.stop()  # once more does nothing


def test_a_slow_window_gets_the_newest_and_nothing_queues_up(qtbot: QtBot) -> None:
    with live_segment(RUN, slots=1) as segment:
        reader = FrameReader(RUN, slot_count=1, fps=120.0)
        arrived: list[LiveFrames] = []
        tapped: list[LiveFrames] = []
        reader.arrived.connect(arrived.append)
        reader.set_tap(tapped.append)
        reader.start()
        wait_until(lambda: segment.is_watched, WAIT_MS / 1000, "the reader")
        # The window's thread is busy all the while: only the tap sees each of them.
        for shade in range(1, 21):
            segment.show(0, shade)
            wait_until(lambda shade=shade: len(tapped) >= shade, WAIT_MS / 1000, "the picture")  # type: ignore[misc]
        assert not arrived
        qtbot.waitUntil(lambda: bool(arrived), timeout=WAIT_MS)
        reader.stop()
        assert len(arrived) <= 2  # the word "waiting" may have come before the first picture
        picture = arrived[-1].tiles[0].picture
        assert picture is not None and set(picture.pixels) == {20}


def test_numbers_arrive_at_most_ten_times_a_second(qtbot: QtBot) -> None:
    with live_segment(RUN, slots=1) as segment:
        segment.show(0, 5)
        reader = FrameReader(RUN, slot_count=1, fps=120.0)
        arrived: list[LiveFrames] = []
        reader.arrived.connect(arrived.append)
        reader.start()
        qtbot.waitUntil(lambda: bool(arrived), timeout=WAIT_MS)
        writer = segment._writers[0]
        started, first = time.monotonic(), len(arrived)
        for steps in range(100):
            writer.update(Metrics(steps=steps))
            qtbot.wait(5)
        seconds = time.monotonic() - started
        reader.stop()
        assert 1 <= len(arrived) - first <= seconds * 10 + 2


def test_garbage_in_place_of_the_segment_is_said_and_may_be_mended(qtbot: QtBot) -> None:
    with live_segment(RUN, slots=1) as segment:
        segment.show(0, 5)
        reader = FrameReader(RUN, slot_count=1)
        statuses: list[str] = []
        reader.arrived.connect(lambda frames: statuses.append(frames.status))
        reader.start()
        qtbot.waitUntil(lambda: "live" in statuses, timeout=WAIT_MS)
        segment.replace_by(b"garbage")
        qtbot.waitUntil(lambda: statuses[-1] == "broken", timeout=WAIT_MS)
        segment.path.unlink()
        qtbot.waitUntil(lambda: statuses[-1] == "waiting", timeout=WAIT_MS)
        reader.stop()
