"""Messages arrive once and in order, whatever a server loses; both sides keep a bounded amount."""

from __future__ import annotations

import random

import pytest

from spade_bdi_rl_worker.agents.delivery import (
    MAX_BODY_BYTES,
    MAX_UNACKNOWLEDGED,
    MAX_WAITING,
    RESEND_S,
    WINDOW,
    Envelope,
    Inbox,
    Outbox,
    Verdict,
)


def sent(outbox: Outbox, now: float = 0.0) -> list[int]:
    return [envelope.number for envelope in outbox.to_send(now)]


def test_what_is_acknowledged_is_not_sent_again() -> None:
    outbox = Outbox("s")
    assert outbox.put("tell", "a") and outbox.put("tell", "b")
    assert sent(outbox) == [1, 2] and sent(outbox) == []
    outbox.acknowledge("s", 1)
    outbox.acknowledge("another session", 2)
    assert sent(outbox, RESEND_S[0]) == [2]
    assert sent(outbox, RESEND_S[0] + RESEND_S[1] - 0.1) == []
    assert sent(outbox, RESEND_S[0] + RESEND_S[1]) == [2]
    outbox.acknowledge("s", 2)
    assert outbox.unacknowledged == 0 and sent(outbox, 1e6) == []


def test_a_new_connection_sends_at_once_what_may_be_lost() -> None:
    outbox = Outbox("s")
    for number in range(WINDOW + 8):
        outbox.put("tell", str(number))
    assert len(sent(outbox)) == WINDOW and sent(outbox) == []
    outbox.start_again()
    assert sent(outbox)[0] == 1
    outbox.acknowledge("s", 10)
    assert sent(outbox) == [*range(WINDOW + 1, WINDOW + 9)]


def test_a_full_outbox_refuses_and_counts() -> None:
    outbox = Outbox()
    assert all(outbox.put("tell", "x") for _ in range(MAX_UNACKNOWLEDGED))
    assert not outbox.put("tell", "x") and outbox.refused == 1
    assert outbox.unacknowledged == MAX_UNACKNOWLEDGED


def test_a_message_is_taken_once_and_in_order() -> None:
    inbox = Inbox()
    first, second, third = (Envelope("tell", "x", "s", number, 1) for number in (1, 2, 3))
    assert inbox.offer("coach", first) is Verdict.TAKEN
    assert inbox.offer("coach", first) is Verdict.KNOWN
    assert inbox.offer("coach", third) is Verdict.EARLY
    assert inbox.offer("coach", second) is Verdict.TAKEN
    assert inbox.taken("coach") == ("s", 2) and len(inbox) == 2
    assert inbox.take() == ("coach", first) and inbox.take() == ("coach", second)
    assert inbox.take() is None


def test_who_starts_anew_is_heard_and_its_old_messages_are_not() -> None:
    inbox = Inbox()
    # This side has started anew: it begins where the other one still has something.
    assert inbox.offer("coach", Envelope("tell", "x", "old", 58, 57)) is Verdict.EARLY
    assert inbox.offer("coach", Envelope("tell", "x", "old", 57, 57)) is Verdict.TAKEN
    # The other side has.
    assert inbox.offer("coach", Envelope("tell", "x", "new", 1, 1)) is Verdict.TAKEN
    assert inbox.offer("coach", Envelope("tell", "x", "old", 58, 57)) is Verdict.STALE


def test_a_full_inbox_takes_more_when_it_has_room() -> None:
    inbox = Inbox()
    for number in range(1, MAX_WAITING + 1):
        assert inbox.offer("a", Envelope("tell", "x", "s", number, 1)) is Verdict.TAKEN
    late = Envelope("tell", "x", "s", MAX_WAITING + 1, 1)
    assert inbox.offer("a", late) is Verdict.FULL and inbox.refused == 1
    assert inbox.offer("b", Envelope("tell", "x", "s", 1, 1)) is Verdict.FULL
    inbox.take()
    assert inbox.offer("a", late) is Verdict.TAKEN


def test_what_is_too_long_is_refused() -> None:
    text = "é" * MAX_BODY_BYTES
    assert Inbox().offer("a", Envelope("tell", text, "s", 1, 1)) is Verdict.TOO_LONG


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_doubled_or_turned_around_over_a_bad_line(seed: int) -> None:
    dice = random.Random(seed)
    outbox, inbox, heard, now = Outbox(), Inbox(), [], 0.0
    waiting = [str(number) for number in range(150)]
    while outbox.unacknowledged or waiting:
        now += 0.3
        if waiting and outbox.put("tell", waiting[0]):
            waiting.pop(0)
        if dice.random() < 0.05:
            outbox.start_again()
        for envelope in outbox.to_send(now):
            if dice.random() < 0.3:
                continue  # lost on the way
            verdict = inbox.offer("a", envelope)
            if verdict in (Verdict.TAKEN, Verdict.KNOWN) and dice.random() < 0.7:
                outbox.acknowledge(*inbox.taken("a"))
        while (taken := inbox.take()) is not None and dice.random() < 0.9:
            heard.append(taken[1].body)
        if taken is not None:
            heard.append(taken[1].body)
        assert now < 100_000
    while (taken := inbox.take()) is not None:
        heard.append(taken[1].body)
    assert heard == [str(number) for number in range(150)]
