"""The client's side of a subscription: credits as the caller consumes, and no repetition."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mosaic.client.streams import AllRunsStream, BusItem, BusStream, unique_names
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.errors import ConfigError
from mosaic.wire.answers import BusBatch, BusNotice
from mosaic.wire.generated import trainer_pb2 as pb


class Wire:
    """Keeps what is sent, in place of a connection."""

    def __init__(self) -> None:
        self.sent: list[pb.SubscribeRequest | None] = []

    def open(self, stream: BusStream) -> tuple[Any, Any]:
        self.sent.append(stream.first_request())
        return iter(()), self.sent.append


def connected(wire: Wire, kind: type[BusStream] = BusStream, window: int = 10) -> BusStream:
    stream = kind(wire.open, ("A",) if kind is BusStream else (), (), None, window, False)
    stream.request()
    return stream


def batch(cursor: int, *numbers: int, kind: str = "step", run_id: str = "A") -> pb.BusMessage:
    events = [b'{"type":"%s","seq":%d}' % (kind.encode(), number) for number in numbers]
    return pb.BusMessage(run_id=run_id, events=events, next_cursor=cursor)


def control(kind: str, cursor: int, *numbers: int, **coalesced: int) -> pb.BusMessage:
    message = batch(cursor, *numbers)
    message.control.CopyFrom(pb.BusControl(kind=kind, coalesced=coalesced))
    return message


def accepted(stream: BusStream, *messages: pb.BusMessage) -> list[BusItem]:
    return [item for message in messages for item in stream.accept(message)]


def sequence(items: list[BusItem]) -> list[int]:
    batches = [item for item in items if isinstance(item, BusBatch)]
    return [event["seq"] for item in batches for event in item.events()]


def test_credits_are_granted_when_the_caller_comes_back_for_more() -> None:
    wire = Wire()
    stream = connected(wire)
    assert wire.sent[0] == pb.SubscribeRequest(run_ids=["A"], credits=10)
    items = stream.accept(batch(60, 1, 2, 3, 4, 5, 6))
    next(items)
    assert len(wire.sent) == 1, "it has not been consumed yet"
    assert next(items, None) is None
    assert wire.sent[1] == pb.SubscribeRequest(credits=6)


def test_lifecycle_costs_no_credit() -> None:
    wire = Wire()
    stream = connected(wire, window=2)
    accepted(stream, batch(10, 1, 2, 3, kind="heartbeat"))
    assert len(wire.sent) == 1
    accepted(stream, batch(20, 4))
    assert wire.sent[1] == pb.SubscribeRequest(credits=1)


def test_resuming_asks_from_the_cursors_with_all_credits() -> None:
    wire = Wire()
    stream = connected(wire)
    accepted(stream, batch(5), batch(60, 1, 2))
    stream.request()
    assert wire.sent[-2] is None, "the requests of the lost connection end"
    assert wire.sent[-1] == pb.SubscribeRequest(run_ids=["A"], credits=10, cursors={"A": 60})


def test_announced_start_is_remembered_and_not_shown() -> None:
    wire = Wire()
    stream = connected(wire)
    assert accepted(stream, batch(70)) == []
    stream.request()
    assert wire.sent[-1] is not None
    assert dict(wire.sent[-1].cursors) == {"A": 70}


def test_notice_comes_before_the_samples_it_speaks_of() -> None:
    stream = connected(Wire())
    notice, samples = accepted(stream, control("RESUMED", 90, 8, 9, step=7))
    assert isinstance(notice, BusNotice)
    assert (notice.kind, notice.coalesced, notice.next_cursor) == ("RESUMED", {"step": 7}, 90)
    assert sequence([samples]) == [8, 9]


def test_lifecycle_ahead_of_the_cursor_is_not_repeated_after_a_loss() -> None:
    stream = connected(Wire())
    ahead = batch(20, 3, 5, kind="heartbeat")  # samples 2 and 4 are held back
    items = accepted(stream, batch(20, 1), control("STARVED", 20), ahead)
    stream.request()
    items += accepted(stream, batch(20), batch(30, 2), batch(40, 3, kind="heartbeat"))
    items += accepted(stream, batch(50, 4), batch(60, 5, 6, kind="heartbeat"))
    assert sequence(items) == [1, 3, 5, 2, 4, 6]


def test_lifecycle_is_recognised_also_after_a_second_loss_while_starved() -> None:
    stream = connected(Wire())
    ahead = batch(20, 3, 5, kind="heartbeat")
    items = accepted(stream, control("STARVED", 20), ahead)
    for _ in range(2):
        stream.request()
        items += accepted(stream, control("STARVED", 20), ahead)
    stream.request()
    items += accepted(stream, batch(60, 3, 5, 7, kind="heartbeat"))
    assert sequence(items) == [3, 5, 7]


def test_what_came_ahead_is_forgotten_once_the_cursor_has_passed_it() -> None:
    stream = connected(Wire())
    same = batch(20, 3, kind="heartbeat")
    items = accepted(stream, control("STARVED", 20), same, control("RESUMED", 40, 4))
    items += accepted(stream, batch(50, 5))
    stream.request()
    # A worker may write the very same line again: that is another event.
    items += accepted(stream, batch(60, 3, kind="heartbeat"))
    assert sequence(items) == [3, 4, 5, 3]


def test_end_is_told_once() -> None:
    stream = connected(Wire())
    items = accepted(stream, control("ENDED", 9))
    stream.request()
    items += accepted(stream, batch(9), control("ENDED", 9))
    assert [item.kind for item in items if isinstance(item, BusNotice)] == ["ENDED"]


def run(run_id: str, created_at: float) -> RunRecord:
    return RunRecord(run_id, "x", "w", RunState.EXEC, None, 1, 0, created_at, created_at)


def test_runs_that_began_during_the_loss_are_followed_from_their_start() -> None:
    wire = Wire()
    stream = connected(wire, AllRunsStream)
    assert isinstance(stream, AllRunsStream)
    assert stream.is_resuming
    accepted(stream, batch(7, run_id="A"), batch(8, run_id="B"))
    over = control("ENDED", 8)
    over.run_id = "B"
    accepted(stream, over)
    later = 2e12
    stream.meet([run("A", later), run("B", later), run("C", later), run("D", 1.0)])
    stream.request()
    assert wire.sent[-1] is not None
    assert dict(wire.sent[-1].cursors) == {"A": 7, "C": 0}


@pytest.mark.parametrize("window", [0, -1, 2**40, "many", 0.5, None])
def test_window_that_makes_no_sense_is_refused(window: Any) -> None:
    with pytest.raises(ConfigError, match="window"):
        BusStream(Wire().open, ("A",), (), None, window, False)


@pytest.mark.parametrize("cursor", [-1, 2**70, "0", 1.5, None])
def test_cursor_that_makes_no_sense_is_refused(cursor: Any) -> None:
    with pytest.raises(ConfigError, match="cursor of A") as refused:
        BusStream(Wire().open, ("A",), (), {"A": cursor}, 10, False)
    assert refused.value.details["field"] == "cursors.A"


def test_a_single_name_is_taken_for_what_was_meant() -> None:
    assert unique_names("A1") == ("A1",)
    assert unique_names(["A", "B", "A"]) == ("A", "B")
    assert Counter(unique_names(())) == {}
