"""A run that tries to steer the terminal of whoever looks at it, on a real one."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests.daemon_harness import DaemonHarness
from tests.integration.pseudo_terminal import pseudo_terminal
from tests.waiting import PATIENCE_S

CLIPBOARD = b"\x1b]52;c;cm0gLXJmIH4=\x07"
LOG = (
    b"before " + CLIPBOARD + b"\x1b]0;owned\x07\x1b[2J\x1b[H\x1b[>4;1m\xc2\x9b2J\x9d0;x\x9c\n"
    b"\x1b[32mgreen\n" + "abc\u202egpj.exe\u2066\n".encode() + b"\r  1%\r 50%\rall of it\nafter\n"
)
# Writes the log byte by byte, so that every order is cut somewhere, and reports with the same.
PROGRAM = """
import json, os, sys
order = chr(27) + "]52;c;QQ==" + chr(7) + chr(0x9b) + "2J" + chr(0x202e) + chr(27) + "[8m"
with open(os.environ["MOSAIC_RUN_DIR"] + "/events.jsonl", "a", encoding="utf-8") as journal:
    def emit(**event):
        event = {"seq": emit.seq, "timestamp": 1.0, **event}
        emit.seq += 1
        journal.write(json.dumps(event, ensure_ascii=False) + "\\n")
    emit.seq = 1
    emit(type="worker_registered", schema_version=1, protocol="MOSAIC/1", agent_id="a",
         worker_id="w", run_id=os.environ["MOSAIC_RUN_ID"], capabilities={"worker_type": "rogue"})
    emit(type="run_started", payload={})
    emit(type="metric", name="loss" + order, value=1.0, step=1)
    emit(type="run_failed", payload={"message": "bad" + order, "error_type": "E" + order,
                                     "hint": "do" + order})
for byte in bytes.fromhex(sys.argv[1]):
    os.write(1, bytes([byte]))
sys.stderr.write(order)
sys.exit(3)
"""
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")


def on_terminal(daemon: DaemonHarness, *words: str, **variables: str) -> str:
    with pseudo_terminal(columns=100) as terminal:
        process = terminal.start(
            [sys.executable, "-m", "mosaic.cli", *words],
            {**daemon.environment, "TERM": "xterm-256color", **variables},
        )
        process.wait(PATIENCE_S)
    # Closed: everything has been read.
    return terminal.output.replace("\r\n", "\n")


def piped(daemon: DaemonHarness, *words: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "mosaic.cli", *words],
        env=daemon.environment,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stdout


@pytest.fixture
def run_id(daemon: DaemonHarness) -> str:
    run_id = daemon.submit(
        entry_point=sys.executable, arguments=["-c", PROGRAM, LOG.hex()], run_name="rogue"
    )
    daemon.wait_over(run_id)
    return run_id


def test_no_command_lets_a_run_steer_the_terminal(daemon: DaemonHarness, run_id: str) -> None:
    shown = {
        words: on_terminal(daemon, *words)
        for words in (
            ("logs", run_id),
            ("logs", "--stderr", run_id),
            ("logs", "--search", "o"),
            ("events", run_id),
            ("show", run_id),
            ("runs",),
            ("metrics", run_id),
            ("metrics", run_id, "loss*"),
            ("metrics", run_id, "nothing like it"),
            ("metrics", "--json", run_id),
            ("show", "--json", run_id),
        )
    }
    for words, text in shown.items():
        bare = COLOUR.sub("", text)
        assert bare.strip(), words
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u2066]", bare), words
        assert "\x1b[8m" not in text or words[0] == "logs", words
    log = shown[("logs", run_id)]
    assert "\x1b[32mgreen\x1b[0m\n" in log
    assert "\r 50%\r    \rall of it\nafter\n" in log
    assert "]52;c;cm0gLXJmIH4=" in log  # what it tried can be read
    events = [json.loads(line) for line in shown[("events", run_id)].splitlines()]
    assert [event["type"] for event in events].count("metric") == 1
    assert events == [json.loads(line) for line in piped(daemon, "events", run_id).splitlines()]
    assert "\x1b" not in on_terminal(daemon, "logs", run_id, NO_COLOR="1")
    assert "\x1b" not in on_terminal(daemon, "logs", run_id, TERM="dumb")


def test_whoever_stores_a_log_gets_its_bytes(daemon: DaemonHarness, run_id: str) -> None:
    assert piped(daemon, "logs", "--stdout", run_id) == LOG
