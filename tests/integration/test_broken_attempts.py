"""A daemon that was killed comes back to attempt folders in which nothing can be relied upon.

One daemon, one kill, one restart, and for every kind of damage three runs: one whose run host lives
on, one whose worker ends while no daemon is there, and one whose run host was killed as well.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.run_files import LiveRecord
from mosaic.contracts.run_record import RunRecord
from mosaic.files import read_json
from mosaic.processes import is_alive, send_signal
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.integration.attempt_damage import DAMAGES
from tests.waiting import PATIENCE_S, wait_until

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
    data: Any = wait_until(lambda: read_json(path), what=str(path))
    return LiveRecord.from_dict(data)


def broken_and_restarted(
    harness: DaemonHarness, stranger: int, processes: dict[str, LiveRecord]
) -> Aftermath:
    never, now = harness.home.root / "never", harness.home.root / "now"
    untouched = waiter(harness, never)
    live = {name: waiter(harness, never) for name in DAMAGES}
    ended = {name: waiter(harness, now) for name in DAMAGES}
    killed = {name: waiter(harness, never) for name in DAMAGES}
    runs = [untouched, *live.values(), *ended.values(), *killed.values()]
    for run_id in runs:
        harness.wait_for(run_id, "RDY")
    processes |= {run_id: live_record(harness, run_id) for run_id in runs}
    harness.kill()
    for run_id in killed.values():
        os.kill(processes[run_id].host.pid, signal.SIGKILL)
    workers = [processes[run_id].worker for run_id in killed.values()]
    wait_until(lambda: not any(map(is_alive, workers)), what="the workers' deaths")
    for name, break_it in DAMAGES.items():
        for run_id in (live[name], ended[name], killed[name]):
            break_it(harness.home.run(run_id).attempt(1), run_id, stranger)
    now.touch()
    hosts = [processes[run_id].host for run_id in ended.values()]
    wait_until(lambda: not any(map(is_alive, hosts)), what="the hosts' ends")
    harness.start()
    over = [*ended.values(), *killed.values()]
    final = {run_id: harness.wait_over(run_id) for run_id in over}
    # The monitor has looked at every run once it has something to say about this one.
    noticed = live["live_garbage"]
    wait_until(lambda: harness.client.get_run(noticed).stalled, what="a word about live.json")
    new = harness.wait_over(harness.submit())
    before_stop = {run_id: harness.client.get_run(run_id) for run_id in live.values()}
    for run_id, record in before_stop.items():
        if not record.is_over:
            harness.client.stop_run(run_id, grace_s=0)
    final |= {run_id: harness.wait_over(run_id) for run_id in live.values()}
    spared = harness.client.get_run(untouched)
    return Aftermath(harness, live, ended, killed, processes, before_stop, final, spared, new)


def test_damaged_attempts_neither_stop_a_daemon_nor_hide_an_exit_nor_outlive_a_stop() -> None:
    stranger = subprocess.Popen([sys.executable, "-I", "-S", "-c", WAITER, "/nowhere"])
    processes: dict[str, LiveRecord] = {}
    try:
        with running_daemon(MOSAIC_CPUS="256", MOSAIC_MEMORY_MB="262144") as harness:
            aftermath = broken_and_restarted(harness, stranger.pid, processes)
            assert len(DAMAGES) > 40
            problems = {name: problems_of(aftermath, name) for name in DAMAGES}
            assert {name: found for name, found in problems.items() if found} == {}
            assert_the_rest_is_served(aftermath)
        assert stranger.poll() is None, "a process that only the files named was killed"
    finally:
        stranger.kill()
        stranger.wait(PATIENCE_S)
        for record in processes.values():  # only if something above went wrong
            send_signal(record.host, signal.SIGKILL)


def problems_of(aftermath: Aftermath, damage: str) -> list[str]:
    live, ended, killed = (
        aftermath.final[runs[damage]]
        for runs in (aftermath.live, aftermath.ended, aftermath.killed)
    )
    went_on = not aftermath.before_stop[live.run_id].is_over
    processes = aftermath.processes[live.run_id]
    is_left = is_alive(processes.host) or is_alive(processes.worker)
    exit_told = "lost" if damage in HOMELESS else "exit_code_3"
    checks = {
        f"a live run did not go on: {live.failure}": went_on,
        f"a stop ended in {live.outcome}: {live.failure}": live.outcome == "canceled",
        "a stop left its processes": not is_left,
        f"an exit nobody saw is told as {ended.failure}": ended.failure_reason == exit_told,
        f"a killed host is told as {killed.failure}": killed.failure_reason == "lost",
        "it was started again": {live.attempt, ended.attempt, killed.attempt} == {1},
    }
    if damage.startswith("exit_"):
        checks["nobody hears what was refused"] = is_told(aftermath, killed)
    return [problem for problem, is_fine in checks.items() if not is_fine]


def is_told(aftermath: Aftermath, record: RunRecord) -> bool:
    folder = aftermath.daemon.home.run(record.run_id).attempt(1).directory
    message = record.failure.message if record.failure else ""
    is_kept = os.path.lexists(folder / "exit.json.refused-1")
    return is_kept and "is kept as exit.json.refused-1" in message


def assert_the_rest_is_served(aftermath: Aftermath) -> None:
    assert aftermath.new.outcome == "succeeded"
    assert (aftermath.untouched.state, aftermath.untouched.stalled) == ("RDY", "")
    assert aftermath.daemon.client.health().alarms == ()
    stalled = aftermath.before_stop[aftermath.live["live_garbage"]].stalled
    assert "live.json: it is no JSON document; it is kept as live.json.refused-1" in stalled
    log = aftermath.daemon.home.daemon_log.read_text()
    for event in ("loop.failed", "task.failed", "run.unreadable", "host.unkillable"):
        assert f'"{event}"' not in log
