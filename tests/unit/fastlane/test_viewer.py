"""What a viewer says about a run: live, waiting, stalled, over or broken."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mosaic.fastlane.layout import PAUSED, SEQUENCE, Geometry
from mosaic.fastlane.segment import Segment, make_segment, segment_path
from mosaic.fastlane.slot_writer import Metrics, SlotWriter
from mosaic.fastlane.viewer import SlotState, Viewer, is_running, live_status
from mosaic.processes import stat_fields

GEOMETRY = Geometry(4, 3000)
GREY = 96  # of the lines between pictures


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return segment_path("01RUN", tmp_path)


@pytest.fixture
def segment(path: Path) -> Segment:
    return make_segment(path, GEOMETRY)


def show(segment: Segment, slot: int, shade: int, steps: int = 1) -> None:
    pixels = bytes([shade]) * (10 * 8 * 3)
    SlotWriter(segment, slot).publish(10, 8, pixels, Metrics(steps=steps))


def test_before_the_run_has_shown_anything(path: Path) -> None:
    viewer = Viewer(path)
    assert viewer.poll().status == "waiting"
    make_segment(path, GEOMETRY)
    assert viewer.poll().status == "waiting"


def test_a_segment_that_is_just_being_made(path: Path) -> None:
    path.touch(0o600)
    viewer = Viewer(path)
    assert viewer.poll().status == "waiting"
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(b"half a head")
        file.flush()
        assert viewer.poll().status == "waiting"


def test_each_frame_is_given_once(segment: Segment, path: Path) -> None:
    viewer = Viewer(path)
    show(segment, 0, 5)
    view = viewer.poll()
    assert view.status == "live"
    assert view.picture is not None
    assert (view.picture.width, view.picture.height, set(view.picture.pixels)) == (10, 8, {5})
    assert viewer.poll().picture is None
    show(segment, 0, 6, steps=9)
    view = viewer.poll()
    assert view.picture is not None
    assert set(view.picture.pixels) == {6}
    assert view.metrics[0] == Metrics(steps=9)


def test_a_grid_of_those_that_have_something_to_show(segment: Segment, path: Path) -> None:
    viewer = Viewer(path, slot_count=4)
    for slot in (0, 1, 3):
        show(segment, slot, slot + 1)
    picture = viewer.poll().picture
    assert picture is not None
    assert (picture.width, picture.height) == (34, 8)
    assert set(picture.pixels) - {GREY} == {1, 2, 4}


def test_watching_holds_a_lease_that_ends(segment: Segment, path: Path) -> None:
    viewer = Viewer(path, first_slot=1, slot_count=2, interval_s=0.5)
    viewer.poll()
    lease = segment.lease()
    assert (lease.first_slot, lease.slot_count, lease.interval_ns) == (1, 2, 500_000_000)
    assert lease.covers(2, lease.until_ns - 1)
    viewer.close()
    assert not segment.lease().covers(1, 0)


def test_two_viewers_see_what_both_want(segment: Segment, path: Path) -> None:
    Viewer(path, first_slot=0, slot_count=1, interval_s=1.0).poll()
    Viewer(path, first_slot=3, slot_count=1, interval_s=0.1).poll()
    lease = segment.lease()
    assert (lease.first_slot, lease.slot_count, lease.interval_ns) == (0, 4, 100_000_000)


def test_a_new_attempt_has_a_new_segment(segment: Segment, path: Path) -> None:
    viewer = Viewer(path)
    show(segment, 0, 5)
    assert viewer.poll().picture is not None
    path.unlink()
    assert viewer.poll().status == "live"  # its last picture stays
    show(make_segment(path, GEOMETRY), 0, 9)
    picture = viewer.poll().picture
    assert picture is not None
    assert set(picture.pixels) == {9}


@pytest.mark.parametrize("content", [b"short", b"x" * 5000, bytes(5000)])
def test_garbage_is_a_sentence(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    view = Viewer(path).poll()
    assert view.status == "broken"
    assert path.name in view.message


def test_a_broken_segment_may_be_mended(path: Path) -> None:
    viewer = Viewer(path)
    path.write_bytes(b"garbage")
    assert viewer.poll().status == "broken"
    path.unlink()
    show(make_segment(path, GEOMETRY), 0, 1)
    assert viewer.poll().status == "live"


def test_whatever_the_bytes_are_nothing_is_raised(segment: Segment, path: Path) -> None:
    generator = random.Random(3)
    viewer = Viewer(path, slot_count=4)
    for _ in range(500):
        show(segment, generator.randrange(4), 7)
        where = generator.randrange(GEOMETRY.total_bytes - 40)
        os.pwrite(segment.fd, generator.randbytes(40), where)
        view = viewer.poll()
        assert view.status in ("waiting", "live", "stalled", "ended", "paused", "broken")
        if view.status == "broken":
            path.unlink()
            segment.close()
            segment = make_segment(path, GEOMETRY)


def test_a_slot_that_the_run_does_not_have(segment: Segment, path: Path) -> None:
    viewer, other = Viewer(path, first_slot=10), Viewer(path)
    show(segment, 0, 5)
    for _ in range(3):
        assert viewer.poll().status == "waiting"
        assert other.poll().status == "live"
    lease = segment.lease()
    assert lease.covers(0, lease.until_ns - 1)


def test_a_writer_that_died_within_a_change_is_remembered(segment: Segment, path: Path) -> None:
    viewer = Viewer(path)
    show(segment, 0, 5, steps=9)
    viewer.poll()
    os.pwrite(segment.fd, SEQUENCE.pack(5), GEOMETRY.state_offset(0))
    view = viewer.poll()
    assert (view.status, view.metrics) == ("live", (Metrics(steps=9),))


@pytest.mark.parametrize("is_watched", [True, False])
def test_what_takes_the_place_of_a_segment_is_a_sentence(
    segment: Segment, path: Path, is_watched: bool
) -> None:
    show(segment, 0, 5)
    viewer = Viewer(path)
    replacements: tuple[tuple[Callable[[], None], str], ...] = (
        (lambda: os.mkfifo(path), "it is no regular file"),
        (lambda: path.symlink_to("/dev/zero"), "it is a link"),
        (lambda: path.symlink_to("nothing"), "it is a link"),
        (path.mkdir, "Is a directory"),
    )
    for put, reason in replacements:
        if is_watched:
            viewer.poll()
        path.unlink()
        put()
        view = viewer.poll()
        assert (view.status, view.message) == ("broken", f"{path.name} cannot be read: {reason}")


def test_pictures_of_an_earlier_attempt_are_not_shown_with_those_of_the_next(
    segment: Segment, path: Path
) -> None:
    viewer = Viewer(path, slot_count=2)
    show(segment, 0, 5)
    show(segment, 1, 6)
    viewer.poll()
    path.unlink()
    successor = make_segment(path, GEOMETRY)
    SlotWriter(successor, 0).update(Metrics())
    show(successor, 1, 7)
    picture = viewer.poll().picture
    assert picture is not None
    assert set(picture.pixels) - {GREY} == {0, 7}


def state(
    updated_ns: int, pid: int | None = None, flags: int = 0, start_ticks: int | None = None
) -> SlotState:
    fields = stat_fields(os.getpid())
    assert fields is not None
    ticks = int(fields[19]) if start_ticks is None else start_ticks
    return SlotState(Metrics(flags=flags), 1, updated_ns, pid or os.getpid(), ticks)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (state(1), True),
        (state(1, pid=2**22 + 7), False),
        (state(1, start_ticks=1), False),  # the pid is somebody else's now
        (state(1, pid=2**40), False),
    ],
)
def test_whether_a_writer_lives(one: SlotState, expected: bool) -> None:
    assert is_running(one) is expected


@pytest.mark.parametrize(
    ("states", "status"),
    [
        ([state(11 * 10**9)], "live"),
        ([state(11 * 10**9, flags=PAUSED)], "paused"),
        ([state(1)], "stalled"),
        ([state(1), state(11 * 10**9)], "live"),
    ],
)
def test_what_the_writers_are_doing(states: list[SlotState], status: str) -> None:
    assert live_status(states, 0, 12 * 10**9)[0] == status


def test_silence_before_anybody_watched_is_no_stall() -> None:
    now = 100 * 10**9
    assert live_status([state(1)], now - 10**9, now)[0] == "live"
    assert live_status([state(1)], now - 11 * 10**9, now)[0] == "stalled"


def test_each_slot_by_itself(segment: Segment, path: Path) -> None:
    viewer = Viewer(path, slot_count=4)
    show(segment, 0, 5, steps=1)
    show(segment, 2, 6, steps=9)
    view = viewer.poll_slots()
    assert (view.status, view.slot_limit, view.is_new) == ("live", 4, True)
    assert [slot.slot for slot in view.slots] == [0, 2]
    assert [slot.metrics.steps for slot in view.slots] == [1, 9]
    assert {slot.pid for slot in view.slots} == {os.getpid()}


def test_a_slot_keeps_its_picture_until_there_is_a_newer_one(segment: Segment, path: Path) -> None:
    viewer = Viewer(path, slot_count=2)
    show(segment, 0, 5)
    show(segment, 1, 6)
    before = viewer.poll_slots().slots
    show(segment, 1, 7)
    after = viewer.poll_slots().slots
    assert [slot.is_new for slot in after] == [False, True]
    assert after[0].picture is before[0].picture
    assert after[1].picture is not None and set(after[1].picture.pixels) == {7}
    assert [slot.frames for slot in after] == [1, 2]


def test_slots_of_garbage_are_a_sentence(path: Path) -> None:
    path.write_bytes(b"garbage")
    view = Viewer(path).poll_slots()
    assert (view.status, view.slots) == ("broken", ())
    assert path.name in view.message
