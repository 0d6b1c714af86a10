"""Writers and readers of one segment, in one process and on a plain folder."""

from __future__ import annotations

import errno
import fcntl
import os
import random
from pathlib import Path

import pytest

from mosaic.fastlane.layout import (
    EVALUATING,
    FRAME,
    PIXELS_OFFSET,
    SEQUENCE,
    BrokenSegmentError,
    Geometry,
    Lease,
)
from mosaic.fastlane.segment import Segment, make_segment, open_segment, segment_path
from mosaic.fastlane.slot_writer import Metrics, SlotWriter, claim_slot
from mosaic.fastlane.viewer import read_frame, read_state

GEOMETRY = Geometry(2, 304)
METRICS = Metrics(12, 3, -1.5, 99.25, 1000.0, EVALUATING)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return segment_path("01RUN", tmp_path)


@pytest.fixture
def segment(path: Path) -> Segment:
    return make_segment(path, GEOMETRY)


def publish(writer: SlotWriter, shade: int, width: int = 10, height: int = 10) -> None:
    writer.publish(width, height, bytes([shade]) * (width * height * 3), METRICS)


def test_whoever_comes_second_finds_the_segment_of_the_first(path: Path) -> None:
    make_segment(path, GEOMETRY)
    assert make_segment(path, Geometry(1, 16)).geometry == GEOMETRY
    assert open_segment(path).geometry == GEOMETRY
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_published_is_read(segment: Segment) -> None:
    writer = SlotWriter(segment, 1)
    publish(writer, 7, 5, 4)
    state = read_state(segment, 1)
    assert state is not None
    assert state.metrics == METRICS
    assert (state.frames, state.pid) == (1, os.getpid())
    picture = read_frame(segment, 1, 1)
    assert picture is not None
    assert (picture.width, picture.height, set(picture.pixels)) == (5, 4, {7})
    untouched = read_state(segment, 0)
    assert untouched is not None
    assert (untouched.frames, untouched.updated_ns) == (0, 0)


def test_frames_may_change_their_size(segment: Segment) -> None:
    writer = SlotWriter(segment, 0)
    for number, (width, height) in enumerate([(10, 10), (2, 3), (5, 20)], 1):
        publish(writer, number, width, height)
        picture = read_frame(segment, 0, number)
        assert picture is not None
        assert (picture.width, picture.height) == (width, height)


def test_an_overwritten_frame_is_gone(segment: Segment) -> None:
    writer = SlotWriter(segment, 0)
    for shade in range(1, 5):
        publish(writer, shade)
    assert read_frame(segment, 0, 1) is None
    assert [read_frame(segment, 0, number) is not None for number in (2, 3, 4)] == [True] * 3


@pytest.mark.parametrize(("width", "height"), [(11, 10), (0, 10), (-1, -1)])
def test_frames_that_do_not_fit_are_refused(segment: Segment, width: int, height: int) -> None:
    writer = SlotWriter(segment, 0)
    publish(writer, 1)
    with pytest.raises(ValueError, match="room for 304"):
        writer.publish(width, height, bytes(max(0, width * height * 3)), METRICS)
    assert read_frame(segment, 0, 1) is not None


def test_a_frame_whose_writer_died_is_never_shown(segment: Segment) -> None:
    writer = SlotWriter(segment, 0)
    publish(writer, 1)
    offset = GEOMETRY.frame_offset(0, 2)
    os.pwrite(segment.fd, SEQUENCE.pack(3), offset)  # what `publish` does first
    os.pwrite(segment.fd, b"half", offset + PIXELS_OFFSET)
    state = read_state(segment, 0)
    assert state is not None
    assert state.frames == 1
    assert read_frame(segment, 0, 2) is None
    successor = SlotWriter(segment, 0)
    publish(successor, 5)
    picture = read_frame(segment, 0, 2)
    assert picture is not None
    assert set(picture.pixels) == {5}


def test_a_state_whose_writer_died_is_not_read_until_it_has_a_new_one(segment: Segment) -> None:
    publish(SlotWriter(segment, 0), 1)
    os.pwrite(segment.fd, SEQUENCE.pack(3), GEOMETRY.state_offset(0))
    assert read_state(segment, 0) is None
    publish(SlotWriter(segment, 0), 2)
    state = read_state(segment, 0)
    assert state is not None
    assert state.frames == 2


def test_a_process_claims_each_slot_once(segment: Segment) -> None:
    taken: set[int] = set()
    assert [claim_slot(segment, taken) for _ in range(3)] == [0, 1, None]
    taken.discard(0)
    assert claim_slot(segment, taken) == 0


def test_the_lease_is_for_all_who_open_the_segment(segment: Segment, path: Path) -> None:
    assert segment.lease() == Lease()
    open_segment(path).set_lease(Lease(5, 1, 1, 10))
    assert segment.lease() == Lease(5, 1, 1, 10)


@pytest.mark.parametrize("size", [10, 256, GEOMETRY.total_bytes - 1])
def test_a_segment_that_was_cut_off(segment: Segment, path: Path, size: int) -> None:
    publish(SlotWriter(segment, 1), 1)
    os.truncate(path, size)
    with pytest.raises(BrokenSegmentError):
        open_segment(path)
    if size <= 256:
        with pytest.raises(BrokenSegmentError):
            read_state(segment, 1)


def test_links_are_not_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic"):
        make_segment(path, GEOMETRY)
    with pytest.raises(BrokenSegmentError, match="link"):
        open_segment(path)
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_segment_that_somebody_keeps_locked_is_no_reason_to_wait_for_ever(
    segment: Segment, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mosaic.fastlane.segment._LOCK_WAIT_S", 0.01)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(OSError, match="keeps its segment locked"):
            make_segment(path, GEOMETRY)
    assert make_segment(path, GEOMETRY).geometry == GEOMETRY


def test_without_memory_for_a_header_the_next_may_try_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("mosaic.fastlane.segment.os.pwrite", full)
        with pytest.raises(OSError, match="No space"):
            make_segment(path, GEOMETRY)
    assert make_segment(path, GEOMETRY).geometry == GEOMETRY


def test_pipes_are_no_segments(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(BrokenSegmentError, match="no regular file"):
        make_segment(path, GEOMETRY)
    with pytest.raises(BrokenSegmentError, match="no regular file"):
        open_segment(path)


def test_a_segment_that_others_may_write_is_none(segment: Segment, path: Path) -> None:
    path.chmod(0o666)
    for use in (open_segment, lambda path: make_segment(path, GEOMETRY)):
        with pytest.raises(BrokenSegmentError, match="mode 666"):
            use(path)


def test_a_segment_with_a_second_name_is_none(segment: Segment, path: Path, tmp_path: Path) -> None:
    (tmp_path / "second").hardlink_to(path)
    for use in (open_segment, lambda path: make_segment(path, GEOMETRY)):
        with pytest.raises(BrokenSegmentError, match="other names"):
            use(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_segment_of_another_user_is_none(segment: Segment, path: Path) -> None:
    os.chown(path, 65534, 65534)
    for use in (open_segment, lambda path: make_segment(path, GEOMETRY)):
        with pytest.raises(BrokenSegmentError, match=r"another user \(65534\)"):
            use(path)


@pytest.mark.parametrize(("width", "height"), [(5000, 1), (1, 5000), (2**40, 0), (0, 0)])
def test_frames_of_absurd_sizes_are_none(tmp_path: Path, width: int, height: int) -> None:
    segment = make_segment(tmp_path / "large", Geometry(1, 24_000))
    publish(SlotWriter(segment, 0), 1)
    offset = segment.geometry.frame_offset(0, 1) + SEQUENCE.size
    os.pwrite(segment.fd, FRAME.pack(1, width, height), offset)
    assert read_frame(segment, 0, 1) is None


def test_random_bytes_behind_a_sound_header_do_no_harm(segment: Segment) -> None:
    generator = random.Random(2)
    for _ in range(300):
        start = generator.randrange(256, GEOMETRY.total_bytes - 64)
        os.pwrite(segment.fd, generator.randbytes(64), start)
        for slot in range(2):
            state = read_state(segment, slot)
            number = state.frames if state else generator.randrange(1, 9)
            picture = read_frame(segment, slot, number)
            assert picture is None or len(picture.pixels) == picture.width * picture.height * 3
