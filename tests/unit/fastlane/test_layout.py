"""The bytes of a segment: sizes that fit, headers that are not believed."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from mosaic.fastlane.layout import (
    DEFAULT_BYTES,
    HEADER,
    LEASE_NS,
    MAX_SLOTS,
    RING,
    BrokenSegmentError,
    Geometry,
    Lease,
    pack_header,
    parse_header,
)


@pytest.mark.parametrize("slots", [1, 2, 4, 8, 64])
@pytest.mark.parametrize("max_dim", [84, 480, 4096])
def test_a_run_has_eight_megabytes_whatever_it_shows(slots: int, max_dim: int) -> None:
    geometry = Geometry.within(slots, max_dim)
    assert geometry.slots == slots
    assert geometry.total_bytes <= DEFAULT_BYTES
    assert geometry.frame_bytes <= max_dim * max_dim * 3


def test_four_large_frames_fit_as_they_are() -> None:
    assert Geometry.within(4, 480).frame_bytes == 480 * 480 * 3


def test_eight_large_frames_become_smaller() -> None:
    side = math.isqrt(Geometry.within(8, 480).frame_bytes // 3)
    assert side == 341


@pytest.mark.parametrize(("asked", "given"), [(0, 1), (-3, 1), (1000, MAX_SLOTS)])
def test_numbers_of_slots_that_make_no_sense_are_bent(asked: int, given: int) -> None:
    assert Geometry.within(asked, 84).slots == given


def test_nothing_overlaps() -> None:
    geometry = Geometry(3, 1000)
    places = []
    for slot in range(3):
        places.append(geometry.state_offset(slot))
        places += [geometry.frame_offset(slot, number) for number in range(1, RING + 1)]
    places.append(geometry.total_bytes)
    assert places == sorted(places)
    assert all(place % 8 == 0 for place in places)
    assert min(b - a for a, b in itertools.pairwise(places)) >= 128
    assert geometry.frame_offset(0, 1) == geometry.frame_offset(0, 1 + RING)


def test_slots_that_are_not_there() -> None:
    with pytest.raises(IndexError):
        Geometry(2, 1000).state_offset(2)


def test_a_header_comes_back_as_it_was_written() -> None:
    geometry = Geometry(5, 1000)
    assert parse_header(pack_header(geometry), geometry.total_bytes) == geometry


def test_garbage_is_never_believed() -> None:
    geometry = Geometry(4, 30_000)
    good = pack_header(geometry)
    generator = random.Random(1)
    for _ in range(3000):
        bad = bytearray(good)
        for _ in range(generator.randint(1, 4)):
            bad[generator.randrange(len(bad))] ^= generator.randint(1, 255)
        if bytes(bad) == good:
            continue
        with pytest.raises(BrokenSegmentError):
            parse_header(bytes(bad), geometry.total_bytes)
    for size in (0, 7, HEADER.size - 1):
        with pytest.raises(BrokenSegmentError):
            parse_header(good[:size], geometry.total_bytes)
    with pytest.raises(BrokenSegmentError, match="contradict"):
        parse_header(good, geometry.total_bytes - 1)


def test_a_lease_covers_its_slots_until_it_ends() -> None:
    lease = Lease(until_ns=100, first_slot=1, slot_count=2)
    assert [lease.covers(slot, 99) for slot in range(4)] == [False, True, True, False]
    assert not lease.covers(1, 100)
    assert not Lease().covers(0, 0)
    assert not Lease(LEASE_NS + 100, 1, 2).covers(1, 99), "nobody asks for so long"
