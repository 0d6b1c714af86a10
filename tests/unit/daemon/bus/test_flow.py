"""Credits: what is delivered and what is coalesced is all there was, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.events import SAMPLE_TYPES, EventType
from mosaic.daemon.bus import flow
from mosaic.daemon.bus.flow import (
    MAX_BYTES,
    MAX_KINDS,
    CreditBalance,
    Delivery,
    HeldSamples,
    RunFlow,
)
from mosaic.telemetry.event_page import EventKind, EventPage
from tests.unit.daemon.bus.bus_samples import (
    EPISODE,
    HEARTBEAT,
    KINDS,
    LOSS,
    OTHER_STEP,
    REWARD,
    SAVED,
    STEP,
    WIDTH,
    Account,
    is_sample,
    line,
    number_of,
    page,
    type_of,
)


class Stage:
    """A flow, the pages there are so far, and what its subscriber has got."""

    def __init__(self, credits: int = 0, types: Sequence[str] = (), lossless: bool = False) -> None:
        self.balance = CreditBalance(credits)
        self.flow = RunFlow(0, self.balance, frozenset(types), lossless)
        self.account = Account()
        self.pages: list[EventPage] = []

    @property
    def sent(self) -> list[bytes]:
        return [each for item in self.pages for each in item.lines]

    def publish(self, *kinds: EventKind) -> None:
        self.pages.append(page(len(self.sent), kinds))

    def turn(self) -> bool:
        """What the subscription does in each turn; False when there is no page to take."""
        self._book(self.flow.resume)
        position = self.flow.position
        for each in self.pages:
            if each.from_cursor <= position < each.next_cursor:
                self._book(partial(self.flow.take, each))
                return True
        return False

    def run(self) -> None:
        while self.turn():
            pass

    def grant(self, credits: int) -> None:
        self.balance.add(credits)
        self.run()

    def _book(self, act: Callable[[], list[Delivery]]) -> None:
        before = self.balance.credits
        used = self.account.book(act())
        assert before - self.balance.credits == used, "a credit is a sample"
        assert self.balance.credits >= 0


def test_with_credits_everything_passes_in_order() -> None:
    stage = Stage(credits=10)
    stage.publish(HEARTBEAT, STEP, LOSS, STEP)
    stage.publish(EPISODE, SAVED)
    stage.run()
    assert stage.account.lines == stage.sent
    assert stage.balance.credits == 6
    assert stage.account.cursor == 6 * WIDTH
    assert not stage.account.controls


def test_without_credits_lifecycle_passes_and_one_notice_says_starved() -> None:
    stage = Stage(credits=1)
    stage.publish(STEP, STEP, HEARTBEAT)
    stage.publish(STEP, SAVED)
    stage.run()
    assert stage.account.lines == [line(STEP, 0), line(HEARTBEAT, 2), line(SAVED, 4)]
    assert stage.account.controls == ["STARVED"]
    # Whoever came back with this cursor would miss nothing.
    assert stage.account.cursor == WIDTH


def test_newest_sample_of_each_kind_comes_with_resumed() -> None:
    stage = Stage()
    stage.publish(STEP, OTHER_STEP, STEP, LOSS, REWARD, LOSS, EPISODE, STEP)
    stage.run()
    stage.grant(100)
    newest = [line(OTHER_STEP, 1), line(REWARD, 4), line(LOSS, 5), line(EPISODE, 6), line(STEP, 7)]
    assert stage.account.lines == newest
    assert stage.account.coalesced == {"step": 2, "metric": 1}
    assert stage.account.controls == ["STARVED", "RESUMED"]
    assert stage.account.cursor == 8 * WIDTH
    stage.publish(STEP, STEP)
    stage.run()
    assert stage.account.samples[-2:] == [line(STEP, 8), line(STEP, 9)]


def test_a_single_credit_settles_as_far_as_it_reaches() -> None:
    stage = Stage()
    stage.publish(STEP, LOSS, STEP, LOSS, LOSS)  # newest: STEP 2, LOSS 4
    stage.run()
    stage.grant(1)
    assert stage.account.lines == [line(STEP, 2)]
    assert stage.account.coalesced == {"step": 1, "metric": 2}
    assert stage.account.cursor == 4 * WIDTH
    assert stage.account.controls == ["STARVED", "RESUMED", "STARVED"]
    stage.grant(1)
    assert stage.account.lines[-1] == line(LOSS, 4)
    assert not stage.flow.is_starved


def test_lossless_waits_instead_of_coalescing() -> None:
    stage = Stage(credits=1, lossless=True)
    stage.publish(STEP, STEP, HEARTBEAT, STEP)
    stage.publish(SAVED, LOSS)
    stage.run()
    assert stage.account.lines == [line(STEP, 0), line(HEARTBEAT, 2), line(SAVED, 4)]
    assert stage.account.cursor == WIDTH
    stage.grant(2)
    assert stage.account.samples == [line(STEP, 0), line(STEP, 1), line(STEP, 3)]
    stage.grant(9)
    assert sorted(stage.account.lines, key=number_of) == stage.sent
    assert not stage.account.coalesced


def test_other_types_cost_nothing_and_are_not_counted() -> None:
    stage = Stage(credits=1, types=["metric", "heartbeat"])
    stage.publish(STEP, LOSS, SAVED, STEP, HEARTBEAT)
    stage.run()
    assert stage.account.lines == [line(LOSS, 1), line(HEARTBEAT, 4)]
    assert not stage.flow.is_starved
    assert stage.account.cursor == 5 * WIDTH


def test_a_flow_may_begin_within_a_page() -> None:
    balance = CreditBalance(10)
    flow = RunFlow(2 * WIDTH, balance)
    account = Account()
    account.book(flow.take(page(0, [STEP, STEP, STEP, LOSS])))
    assert account.lines == [line(STEP, 2), line(LOSS, 3)]
    assert balance.credits == 8


def test_end_says_up_to_where() -> None:
    stage = Stage(credits=5)
    stage.publish(STEP, STEP)
    stage.run()
    end = stage.flow.end()
    assert (end.next_cursor, end.lines) == (2 * WIDTH, ())
    assert end.control is not None
    assert end.control.kind == "ENDED"


# What can happen: a page of events, a grant, or a turn of the subscription.
happenings = st.lists(
    st.one_of(
        st.lists(st.sampled_from(KINDS), min_size=1, max_size=12),
        st.integers(1, 15),
        st.none(),
    ),
    max_size=60,
)


def play(stage: Stage, story: list[list[EventKind] | int | None]) -> None:
    for happening in story:
        if isinstance(happening, list):
            stage.publish(*happening)
        elif isinstance(happening, int):
            stage.balance.add(happening)
        else:
            stage.turn()


def wanted(stage: Stage, types: list[str]) -> list[bytes]:
    return [each for each in stage.sent if not types or type_of(each) in types]


no_types: list[str] = []
some_types = st.one_of(
    st.just(no_types), st.lists(st.sampled_from(["step", "metric", "heartbeat"]), unique=True)
)


@given(happenings, st.integers(0, 10), some_types)
def test_delivered_and_coalesced_are_all_that_was_sent(
    story: list[list[EventKind] | int | None], credits: int, types: list[str]
) -> None:
    stage = Stage(credits, types)
    play(stage, story)
    stage.run()
    # Lifecycle waits for no credit.
    sent = wanted(stage, types)
    assert stage.account.lifecycle == [each for each in sent if not is_sample(each)]
    while stage.flow.is_starved:
        stage.grant(3)
    assert stage.account.delivered + stage.account.coalesced == Counter(map(type_of, sent))
    samples = stage.account.samples
    assert len(set(samples)) == len(samples), "no sample twice"
    assert [number_of(each) for each in samples] == sorted(map(number_of, samples))
    assert set(stage.account.coalesced) <= SAMPLE_TYPES
    # From the last RESUMED on nothing is missing but what it declared.
    stage.grant(1000)
    stage.publish(*KINDS)
    before = len(stage.account.lines)
    stage.run()
    assert stage.account.lines[before:] == wanted(stage, types)[len(sent) :]


@given(happenings, st.integers(0, 10))
def test_held_stretch_ends_with_the_newest_of_each_kind(
    story: list[list[EventKind] | int | None], credits: int
) -> None:
    stage = Stage(credits)
    play(stage, story)
    stage.run()
    while stage.flow.is_starved:
        stage.grant(1000)
    newest = {each.rsplit(maxsplit=1)[0]: each for each in stage.sent if is_sample(each)}
    assert set(newest.values()) <= set(stage.account.lines)


@given(happenings, st.integers(0, 10), some_types)
def test_lossless_delivers_all_of_it_once(
    story: list[list[EventKind] | int | None], credits: int, types: list[str]
) -> None:
    stage = Stage(credits, types, lossless=True)
    play(stage, story)
    stage.run()
    sent = wanted(stage, types)
    assert stage.account.lifecycle == [each for each in sent if not is_sample(each)]
    while stage.flow.is_starved:
        stage.grant(3)
    assert sorted(stage.account.lines, key=number_of) == sent
    assert stage.account.samples == [each for each in sent if is_sample(each)]
    assert not stage.account.coalesced


@given(happenings, st.integers(0, 10), st.booleans())
def test_coming_back_by_the_cursor_misses_nothing(
    story: list[list[EventKind] | int | None], credits: int, lossless: bool
) -> None:
    """The account of both connections together, where repeated lifecycle events count once."""
    stage = Stage(credits, lossless=lossless)
    play(stage, story)
    cursor = stage.account.cursor
    ahead = set(stage.account.lifecycle)
    stage.balance = CreditBalance(10_000)
    stage.flow = RunFlow(cursor, stage.balance, lossless=lossless)
    before = len(stage.account.lines)
    stage.run()
    again = [each for each in stage.account.lines[before:] if each not in ahead]
    together = Counter(map(type_of, stage.account.lines[:before] + again))
    assert together + stage.account.coalesced == Counter(map(type_of, stage.sent))


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
