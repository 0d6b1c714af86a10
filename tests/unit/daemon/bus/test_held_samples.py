"""What is kept of samples without credit stays small, whatever a worker makes up."""

from __future__ import annotations

from mosaic.contracts.events import EventType
from mosaic.daemon.bus import flow
from mosaic.daemon.bus.flow import MAX_BYTES, MAX_KINDS, HeldSamples
from mosaic.telemetry.event_page import EventKind


def metric(name: object) -> EventKind:
    return EventKind(EventType.METRIC, str(name))


def test_names_without_end_are_counted_and_the_newest_kept() -> None:
    held = HeldSamples()
    for number in range(3 * MAX_KINDS):
        held.add(metric(number), number, b"line %d" % number)
    assert held.kinds == MAX_KINDS
    lines, coalesced, held_from = held.settle(held.kinds)
    assert lines[-1] == b"line %d" % (3 * MAX_KINDS - 1)
    assert len(lines) == MAX_KINDS
    assert coalesced == {"metric": 2 * MAX_KINDS}
    assert held_from is None


def test_long_lines_are_let_go_but_never_the_last() -> None:
    held = HeldSamples()
    for number in range(5):
        held.add(metric(number), number, b"x" * (MAX_BYTES * 2 // 3))
    held.add(metric("huge"), 5, b"y" * (MAX_BYTES + 1))
    assert held.kinds == 1
    settlement = held.settle(1)
    assert settlement.lines == [b"y" * (MAX_BYTES + 1)]
    assert settlement.coalesced == {"metric": 5}


def test_each_stretch_is_declared_once() -> None:
    held = HeldSamples()
    for number in range(4):
        held.add(metric("loss"), number, b"a")
    assert held.settle(1).coalesced == {"metric": 3}
    held.add(metric("loss"), 4, b"b")
    assert held.settle(1) == flow.Settlement([b"b"], {}, None)
