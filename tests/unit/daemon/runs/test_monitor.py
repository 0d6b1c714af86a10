"""When a run counts as stalled. Only ever shown, never a reason to kill."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.daemon.executors.base import AttemptKey, WorkerProcess
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.monitor import HANDSHAKE_S, RunMonitor, stall_reason
from tests.worker_samples import submission


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


class Polled:
    """An executor of which only `poll` is asked."""

    def __init__(self, broken: str) -> None:
        self._broken = broken

    async def poll(self, key: AttemptKey) -> WorkerProcess:
        if key.run_id == self._broken:
            raise ValueError("nobody foresaw this")
        return WorkerProcess("S", f"looked at {key.run_id}")


async def test_a_run_that_cannot_be_looked_at_says_so_and_hides_no_other(tmp_path: Path) -> None:
    runs = {name: ActiveRun(live_run(name), submission()) for name in ("A", "B", "C")}
    seen = asyncio.Event()

    def notify(run_id: str) -> None:
        if all(run.record.stalled for run in runs.values()):
            seen.set()

    supervisor: Any = SimpleNamespace(
        active=runs,
        alarms={},
        executor=Polled("B"),
        feed=SimpleNamespace(notify=notify),
        home=SimpleNamespace(trainer=tmp_path),
        queue_changed=asyncio.Event(),
    )
    watching = asyncio.create_task(RunMonitor(supervisor, min_free_mb=0).watch())
    await asyncio.wait_for(seen.wait(), 10)
    watching.cancel()
    assert {name: run.record.stalled for name, run in runs.items()} == {
        "A": "looked at A",
        "B": "it cannot be looked after: nobody foresaw this",
        "C": "looked at C",
    }


def live_run(run_id: str) -> RunRecord:
    now = 1.0
    return RunRecord(run_id, "", "w", RunState.EXEC, None, 1, 0, created_at=now, updated_at=now)
