"""When a run counts as stalled. Only ever shown, never a reason to kill."""

from __future__ import annotations

import pytest

from mosaic.contracts.run_state import RunState
from mosaic.daemon.run_monitor import HANDSHAKE_S, stall_reason


@pytest.mark.parametrize("state", ["T", "t"])
def test_a_stopped_process_is_stalled_at_once(state: str) -> None:
    assert "SIGSTOP" in stall_reason(state, 0, 30, RunState.EXEC, "stdin")


def test_a_paused_run_is_not_stalled_whatever_its_process_does() -> None:
    assert stall_reason("T", 9999, 30, RunState.PAUSE, "signals") == ""


def test_missing_heartbeats_are_noticed_after_two_intervals() -> None:
    assert stall_reason("S", 60, 30, RunState.EXEC, "stdin") == ""
    assert stall_reason("S", 66, 30, RunState.EXEC, "stdin") == "no heartbeat for 66 s"


def test_a_worker_that_never_registers_is_noticed() -> None:
    assert stall_reason("R", HANDSHAKE_S, 30, RunState.HSHK, "stdin") == ""
    assert "not registered" in stall_reason("R", HANDSHAKE_S + 1, 30, RunState.HSHK, "stdin")


def test_silence_of_a_script_means_nothing() -> None:
    assert stall_reason("S", 99_999, 30, RunState.RDY, "signals") == ""
