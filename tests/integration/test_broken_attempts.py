"""A daemon that was killed comes back to attempt folders in which nothing can be relied upon.

One daemon, one kill, one restart, and for every kind of damage three runs: one whose run host lives
on, one whose worker ends while no daemon is there, and one whose run host was killed as well. The
tests below look at what came of each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.run_files import LiveRecord
from mosaic.contracts.run_record import RunRecord
from mosaic.files import read_json
from mosaic.processes import is_alive, send_signal
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.integration.attempt_damage import DAMAGES
from tests.waiting import wait_until

# Ends with exit code 3 once there is a file of that name.
WAITER = """
import os, sys, time
while not os.path.exists(sys.argv[1]):
    time.sleep(0.1)
sys.exit(3)
"""
# Where not even the folder is left, nothing can be read and nothing can be kept.
HOMELESS = {name for name in DAMAGES if name.startswith(("folder_", "all_attempts_"))}


@dataclass
class Aftermath:
    daemon: DaemonHarness
    stranger: subprocess.Popen[bytes]
    live: dict[str, str]  # damage to run
    ended: dict[str, str]
    killed: dict[str, str]
    processes: dict[str, LiveRecord]
    before_stop: dict[str, RunRecord]
    final: dict[str, RunRecord]
    untouched: RunRecord
    new: RunRecord


def waiter(harness: DaemonHarness, signal_file: Path) -> str:
    return harness.submit(
        entry_point=sys.executable,
        arguments=["-I", "-S", "-c", WAITER, str(signal_file)],
        resources={"cpus": 1, "memory_mb": 256},
    )


def live_record(harness: DaemonHarness, run_id: str) -> LiveRecord:
    path = harness.home.run(run_id).attempt(1).live
    data: Any = wait_until(lambda: read_json(path), 30, str(path))
    return LiveRecord.from_dict(data)


@pytest.fixture(scope="module")
def aftermath() -> Iterator[Aftermath]:
    stranger = subprocess.Popen([sys.executable, "-I", "-S", "-c", WAITER, "/nowhere"])
    processes: dict[str, LiveRecord] = {}
    try:
        with running_daemon(MOSAIC_CPUS="256", MOSAIC_MEMORY_MB="262144") as harness:
            yield broken_and_restarted(harness, stranger, processes)
    finally:
        stranger.kill()
        stranger.wait(10)
        for record in processes.values():  # only if something above went wrong
            send_signal(record.host, signal.SIGKILL)


def broken_and_restarted(
    harness: DaemonHarness, stranger: subprocess.Popen[bytes], processes: dict[str, LiveRecord]
) -> Aftermath:
    never, now = harness.home.root / "never", harness.home.root / "now"
    untouched = waiter(harness, never)
    live = {name: waiter(harness, never) for name in DAMAGES}
    ended = {name: waiter(harness, now) for name in DAMAGES}
    killed = {name: waiter(harness, never) for name in DAMAGES}
    runs = [untouched, *live.values(), *ended.values(), *killed.values()]
    for run_id in runs:
        harness.wait_for(run_id, "RDY", timeout_s=60)
    processes |= {run_id: live_record(harness, run_id) for run_id in runs}
    harness.kill()
    for run_id in killed.values():
        os.kill(processes[run_id].host.pid, signal.SIGKILL)
    for run_id in killed.values():
        wait_until(lambda of=run_id: not is_alive(processes[of].worker), 10, "a worker's death")
    for name, break_it in DAMAGES.items():
        for run_id in (live[name], ended[name], killed[name]):
            break_it(harness.home.run(run_id).attempt(1), run_id, stranger.pid)
    now.touch()
    for run_id in ended.values():
        wait_until(lambda of=run_id: not is_alive(processes[of].host), 30, "a host's end")
    harness.start()
    over = [*ended.values(), *killed.values()]
    final = {run_id: harness.wait_over(run_id) for run_id in over}
    # The monitor has looked at every run once it has something to say about this one.
    noticed = live["live_garbage"]
    wait_until(lambda: harness.client.get_run(noticed).stalled, 20, "a word about live.json")
    new = harness.wait_over(harness.submit())
    before_stop = {run_id: harness.client.get_run(run_id) for run_id in live.values()}
    for run_id, record in before_stop.items():
        if not record.is_over:
            harness.client.stop_run(run_id, grace_s=0)
    final |= {run_id: harness.wait_over(run_id, 60) for run_id in live.values()}
    spared = harness.client.get_run(untouched)
    return Aftermath(
        harness, stranger, live, ended, killed, processes, before_stop, final, spared, new
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_live_run_goes_on_and_can_be_stopped(aftermath: Aftermath, damage: str) -> None:
    run_id = aftermath.live[damage]
    assert not aftermath.before_stop[run_id].is_over, aftermath.before_stop[run_id].failure
    record = aftermath.final[run_id]
    assert record.outcome == "canceled", record.failure
    assert record.attempt == 1, "it was started again"
    processes = aftermath.processes[run_id]
    assert not is_alive(processes.worker)
    assert not is_alive(processes.host)


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_exit_that_nobody_saw_is_told_as_it_was(aftermath: Aftermath, damage: str) -> None:
    record = aftermath.final[aftermath.ended[damage]]
    assert record.outcome == "failed"
    assert record.failure_reason == ("lost" if damage in HOMELESS else "exit_code_3")
    assert record.attempt == 1, "it was started again"


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_whose_host_was_killed_is_lost_and_says_what_could_not_be_read(
    aftermath: Aftermath, damage: str
) -> None:
    record = aftermath.final[aftermath.killed[damage]]
    assert (record.outcome, record.failure_reason) == ("failed", "lost")
    assert record.attempt == 1, "it was started again"
    assert record.failure is not None
    if damage.startswith("exit_"):
        assert "exit.json" in record.failure.message
        assert "is kept as exit.json.refused-1" in record.failure.message
        folder = aftermath.daemon.home.run(record.run_id).attempt(1).directory
        assert os.path.lexists(folder / "exit.json.refused-1")


def test_the_rest_is_served(aftermath: Aftermath) -> None:
    assert aftermath.new.outcome == "succeeded"
    assert (aftermath.untouched.state, aftermath.untouched.stalled) == ("RDY", "")
    assert aftermath.daemon.client.health().healthy


def test_a_file_that_was_set_aside_is_named_in_the_run(aftermath: Aftermath) -> None:
    stalled = aftermath.before_stop[aftermath.live["live_garbage"]].stalled
    assert "live.json: it is no JSON document; it is kept as live.json.refused-1" in stalled


def test_no_loop_and_no_task_of_the_daemon_has_failed(aftermath: Aftermath) -> None:
    log = aftermath.daemon.home.daemon_log.read_text()
    for event in ("loop.failed", "task.failed", "run.unreadable", "host.unkillable"):
        assert f'"{event}"' not in log


def test_a_stranger_whom_the_files_name_is_left_alone(aftermath: Aftermath) -> None:
    assert aftermath.stranger.poll() is None
