"""Every request on the control socket gets one answer, sound or not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.runhost.control import CommandError, answer


class FakeRun:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def stop(self, reason: str, grace_s: float | None) -> dict[str, Any]:
        self.calls.append(("stop", reason, grace_s))
        return {"stopping": True}

    def pause(self) -> None:
        self.calls.append("pause")

    def unpause(self) -> None:
        raise CommandError("the run is stopping")

    def send(self, line: dict[str, Any]) -> None:
        self.calls.append(("send", line))

    def status(self) -> dict[str, Any]:
        return {"pid": 7}


def asked(run: FakeRun, **request: Any) -> dict[str, Any]:
    return answer(run, json.dumps(request).encode())


def test_commands_reach_the_run() -> None:
    run = FakeRun()
    stopped = asked(run, command="stop", reason="time_limit", grace_s=3)
    assert stopped == {"ok": True, "stopping": True}
    assert asked(run, command="pause") == {"ok": True}
    assert asked(run, command="send", line={"command": "reset"}) == {"ok": True}
    assert run.calls == [("stop", "time_limit", 3.0), "pause", ("send", {"command": "reset"})]
    assert asked(run, command="status") == {"ok": True, "pid": 7}


def test_stop_alone_means_a_person_cancelled_with_the_usual_grace() -> None:
    run = FakeRun()
    asked(run, command="stop")
    assert run.calls == [("stop", "user_cancel", None)]


def test_refusal_comes_back_as_a_sentence() -> None:
    assert asked(FakeRun(), command="resume") == {"ok": False, "error": "the run is stopping"}


@pytest.mark.parametrize(
    "request_line",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        b'{"command": "explode"}',
        b'{"command": ["stop"]}',
        b'{"command": "stop", "grace_s": "soon"}',
        b'{"command": "stop", "grace_s": -1}',
        b'{"command": "stop", "grace_s": NaN}',
        b'{"command": "stop", "grace_s": true}',
        b'{"command": "stop", "reason": 5}',
        b'{"command": "send", "line": "text"}',
    ],
)
def test_wrong_request_is_answered_and_does_nothing(request_line: bytes) -> None:
    run = FakeRun()
    reply = answer(run, request_line)
    assert reply["ok"] is False
    assert reply["error"]
    assert run.calls == []


@given(st.binary(max_size=100))
def test_no_request_raises(line: bytes) -> None:
    assert "ok" in answer(FakeRun(), line)
