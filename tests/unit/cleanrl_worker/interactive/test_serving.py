"""JSON lines: every line becomes a command or a reason, and the end of the input means stop."""

from __future__ import annotations

import os
from typing import Any

import pytest

from cleanrl_worker.interactive import serving
from cleanrl_worker.interactive.serving import STOP, Inbox, MalformedLine, parse_command
from tests.waiting import PATIENCE_S


def commands(*chunks: bytes) -> list[Any]:
    """What arrives when these bytes are sent and the pipe is closed."""
    reader, writer = os.pipe()
    inbox: Inbox = Inbox()
    serving.read_commands(reader, inbox)
    for chunk in chunks:
        os.write(writer, chunk)
    os.close(writer)
    found = []
    while (command := inbox.get(timeout=PATIENCE_S)) != STOP:
        found.append(command)
    os.close(reader)
    return found


def test_lines_may_come_in_pieces() -> None:
    assert commands(b'{"cmd": "re', b'set"}\n\n{"cmd": "ping"}\n{"cmd"', b': "step"}') == [
        {"cmd": "reset"},
        {"cmd": "ping"},
        {"cmd": "step"},
    ]


def test_line_without_end_is_refused_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cleanrl_worker.interactive.serving.MAX_LINE_BYTES", 100)
    found = commands(b"x" * 300, b"y" * 300, b'zz\n{"cmd": "ping"}\n')
    assert isinstance(found[0], MalformedLine)
    assert found[1:] == [{"cmd": "ping"}]


@pytest.mark.parametrize("line", [b"{", b"\xff\xfe", b"[1]", b"5", b"null", b"[" * 100_000])
def test_what_is_no_command_becomes_a_reason(line: bytes) -> None:
    assert isinstance(parse_command(line), MalformedLine)
