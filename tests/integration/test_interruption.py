"""Ctrl-C while following a run, also where the exception is swallowed."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.waiting import PATIENCE_S

PROGRAM = """
import sys, time
from mosaic.cli.shared import failures

failures.INTERRUPT_GRACE_S = 0.2

def say_goodbye():
    print("goodbye", flush=True)

with failures.guaranteed_interrupt(say_goodbye):
    try:
        print("ready", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        if sys.argv[1] == "raised":
            raise SystemExit(7)
    time.sleep(60)
"""


def interrupted(behaviour: str) -> tuple[int, str]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, behaviour], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=PATIENCE_S)
        return process.returncode, rest


def test_an_interrupt_that_is_swallowed_still_ends_the_command() -> None:
    assert interrupted("swallowed") == (130, "goodbye\n")


def test_an_interrupt_that_arrives_is_left_to_the_command() -> None:
    assert interrupted("raised") == (7, "")
