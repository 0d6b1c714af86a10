"""Requests reach the training loop: from lines, from signals, while paused."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mosaic.worker.control import Control, _read_commands, listen_to_signals
from tests.waiting import PATIENCE_S, wait_until


@pytest.fixture
def control() -> Control:
    return Control()


@pytest.fixture
def signalled(control: Control) -> Iterator[Control]:
    restore = listen_to_signals(control)
    yield control
    restore()


def test_nothing_asked_needs_no_attention(control: Control) -> None:
    assert not control.needs_attention
    assert not control.settle()


def test_stop_line_carries_its_reason(control: Control) -> None:
    control.handle_line(b'{"command": "stop", "reason": "time_limit"}')
    assert control.needs_attention
    assert control.settle()
    assert control.stop_reason == "time_limit"


def test_stop_line_may_say_how_much_time_is_left(control: Control) -> None:
    control.handle_line(b'{"command": "stop", "grace_s": "soon"}')
    control.handle_line(b'{"command": "stop", "grace_s": NaN}')
    assert control.stop_grace_s is None
    control.handle_line(b'{"command": "stop", "grace_s": 2.5}')
    assert control.stop_grace_s == 2.5


def test_stop_without_a_reason_is_a_user_cancel(control: Control) -> None:
    control.handle_line(b'{"command": "stop"}')
    assert control.stop_reason == "user_cancel"


def test_first_reason_stays_but_a_line_explains_a_signal(control: Control) -> None:
    control.request_stop("sigterm")
    control.request_stop("time_limit")
    control.request_stop("user_cancel")
    assert control.stop_reason == "time_limit"


def test_resume_takes_the_attention_away_again(control: Control) -> None:
    control.handle({"command": "pause"})
    control.handle({"command": "resume"})
    assert not control.settle()
    assert not control.needs_attention


def test_stop_during_a_pause_is_not_lost(control: Control) -> None:
    control.pause()
    control.request_stop("user_cancel")
    control.unpause()
    assert control.settle()


@pytest.mark.parametrize("order", ["resume", "stop"])
def test_pause_ends_with_resume_or_stop(control: Control, order: str) -> None:
    control.pause()
    waiting = threading.Thread(target=control.wait_while_paused)
    waiting.start()
    waiting.join(timeout=0.05)
    assert waiting.is_alive()
    control.handle({"command": order})
    waiting.join(timeout=PATIENCE_S)
    assert not waiting.is_alive()


@pytest.mark.parametrize("line", [b"stop", b"{", b"[]", b'"stop"', b"\xff\xfe", b"[" * 100_000])
def test_malformed_line_is_ignored(control: Control, line: bytes) -> None:
    control.handle_line(line)
    assert not control.needs_attention


def test_other_commands_go_to_the_worker(control: Control) -> None:
    received: list[dict[str, Any]] = []
    control.handle({"command": "reset"})  # nobody listens yet
    control.on_command = received.append
    control.handle({"command": "reset", "seed": 1})
    assert received == [{"command": "reset", "seed": 1}]


def test_commands_are_read_in_whatever_pieces_they_come(control: Control) -> None:
    reader, writer = os.pipe()
    thread = threading.Thread(target=_read_commands, args=(reader, control))
    thread.start()
    os.write(writer, b'\n{"command": "pa')
    os.write(writer, b'use"}\n{"command": "stop", "rea')
    wait_until(lambda: control.is_paused)
    reason_while_paused = control.stop_reason
    os.write(writer, b'son": "user_cancel"}\n')
    os.close(writer)
    thread.join(timeout=PATIENCE_S)
    assert (reason_while_paused, control.stop_reason) == ("", "user_cancel")


@pytest.mark.parametrize(
    ("number", "reason"), [(signal.SIGTERM, "sigterm"), (signal.SIGINT, "sigint")]
)
def test_signal_asks_to_stop(signalled: Control, number: signal.Signals, reason: str) -> None:
    signal.raise_signal(number)
    assert signalled.stop_reason == reason
    assert signalled.settle()


def test_second_interrupt_interrupts(signalled: Control) -> None:
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_signal_ends_a_pause_of_the_main_thread(signalled: Control) -> None:
    signalled.pause()
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGTERM])
    timer.start()
    signalled.wait_while_paused()
    timer.join()
    assert signalled.stop_reason == "sigterm"


def test_handlers_are_put_back(control: Control) -> None:
    before = signal.getsignal(signal.SIGTERM)
    restore = listen_to_signals(control)
    assert signal.getsignal(signal.SIGTERM) is not before
    restore()
    assert signal.getsignal(signal.SIGTERM) is before


def test_signals_are_left_alone_outside_the_main_thread(control: Control) -> None:
    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=listen_to_signals, args=(control,))
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGTERM) is before
