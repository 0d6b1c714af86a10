"""Clocks that jump, pids that come back, and machines that restart (faults 12, 24, 25)."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.run_files import LiveRecord
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.daemon.executors.base import WorkerProcess
from mosaic.daemon.runs import monitor
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.monitor import RunMonitor
from mosaic.files import atomic_write_json, read_json
from mosaic.paths import Home
from mosaic.processes import ProcessIdentity, identity_of
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, chaos_daemon, python_run
from tests.chaos.descendants import is_running, no_process_left
from tests.chaos.figures import record
from tests.chaos.jumping_clock import DAY_S, make_jumping_clock
from tests.chaos.pid_reuse import CANNOT_CHOOSE_PIDS
from tests.daemon_harness import run_document
from tests.integration.runhost_harness import HostedRun, misbehaving
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

JUMPS = (DAY_S, -DAY_S, 0)


# Fault 12: the clock


@dataclass
class QuietSupervisor:
    """As much of a supervisor as the monitor looks at, with one healthy run."""

    home: Home
    run: ActiveRun
    alarms: dict[str, str] = field(default_factory=dict)
    looks: int = 0

    @property
    def active(self) -> dict[str, ActiveRun]:
        return {self.run.run_id: self.run}

    @property
    def executor(self) -> QuietSupervisor:
        return self

    @property
    def feed(self) -> Any:
        return SimpleNamespace(notify=lambda run_id: None)

    async def poll(self, key: object) -> WorkerProcess:
        self.looks += 1
        return WorkerProcess("S")


async def test_the_monitor_takes_no_jump_of_the_clock_for_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, shift = time.time, 0
    monkeypatch.setattr(time, "time", lambda: real() + shift)
    monkeypatch.setattr(monitor, "LOOK_S", 0.01)
    monkeypatch.setenv("MOSAIC_HEARTBEAT_S", "30")
    home = Home(tmp_path)
    home.create()
    now = time.time()
    known = RunRecord(
        "0" * 26, "r", "w", RunState.EXEC, None, 1, 0, now, now, last_heartbeat_at=now
    )
    supervisor = QuietSupervisor(home, ActiveRun(known, parse_run_config(run_document())))
    task = asyncio.create_task(RunMonitor(supervisor, 1).watch())  # type: ignore[arg-type]
    flags = []
    for jump in (*JUMPS, DAY_S, 0):
        shift = jump
        seen = supervisor.looks
        while supervisor.looks < seen + 5:
            await asyncio.sleep(0.01)
        flags.append(supervisor.run.record.stalled)
    task.cancel()
    home.runtime.rmdir()
    assert set(flags) == {""}
    record("12", f"clock ±1 day, the monitor alone — {supervisor.looks} looks, 0 alarms")


def test_no_run_notices_when_the_clock_of_daemon_and_worker_jumps(tmp_path: Path) -> None:
    clock = make_jumping_clock(tmp_path)
    with chaos_daemon(MOSAIC_CPUS="2", MOSAIC_HEARTBEAT_S="1", **clock.environment) as daemon:
        worker = daemon.submit(
            config={"episodes": 100_000, "max_steps_per_second": 100.0},
            environment=clock.environment,
        )
        script = daemon.submit_python(SLEEPER, schedule={"max_duration_seconds": 3600})
        queued = daemon.submit_python("")
        daemon.wait_for(worker, "EXEC")
        daemon.wait_for(script, "RDY")
        before = {run: daemon.client.get_run(run) for run in (worker, script, queued)}
        false_transitions, flags, slowest = 0, [], 0.0
        for jump in JUMPS:
            clock.jump(jump)
            until = time.monotonic() + 4
            while time.monotonic() < until:
                asked_at = time.monotonic()
                now = {run: daemon.client.get_run(run) for run in before}
                slowest = max(slowest, time.monotonic() - asked_at)
                flags += [run.stalled for run in now.values() if run.stalled]
                time.sleep(0.1)
            false_transitions += sum(
                now[run].transitions != before[run].transitions for run in before
            )
            assert now[worker].progress.steps > before[worker].progress.steps
            assert daemon.client.health().alarms == ()
        clock.jump(-DAY_S)  # and while it is wrong, all the rest works as ever
        since = time.monotonic()
        daemon.client.stop_run(script, grace_s=1)
        assert daemon.wait_over(script).outcome == "canceled"
        assert daemon.wait_over(queued).outcome == "succeeded"
        assert daemon.wait_over(daemon.submit_python("")).outcome == "succeeded"
        served = time.monotonic() - since
        assert _steps_in_journal_order(daemon, worker)
        record(
            "12",
            f"clock ±1 day under daemon and worker — {false_transitions} false transitions, "
            f"{len(flags)} false alarms, slowest answer {slowest:.2f} s, stop, queue and "
            f"a new run served in {served:.2f} s meanwhile",
        )
        assert (false_transitions, flags) == (0, [])


def _steps_in_journal_order(daemon: ChaosDaemon, run_id: str) -> bool:
    """By sequence, not by time."""
    connection = sqlite3.connect(daemon.home.run(run_id).telemetry)
    try:
        rows = connection.execute("SELECT seq, timestamp FROM steps ORDER BY cursor").fetchall()
    finally:
        connection.close()
    numbers = [seq for seq, _ in rows]
    times = [at for _, at in rows]
    assert times != sorted(times), "its clock has not jumped at all"
    return numbers == sorted(numbers)


def test_the_run_host_measures_limits_without_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = make_jumping_clock(tmp_path)
    for name, value in clock.environment.items():
        monkeypatch.setenv(name, value)
    runs = {
        limit_s: HostedRun(
            tmp_path / str(limit_s),
            misbehaving("hangs"),
            attempt=attempt,  # control groups are named by run and attempt
            max_duration_s=limit_s,
            grace_s=0.5,
        )
        for attempt, limit_s in enumerate((3.0, 3600.0), 1)
    }
    with no_process_left():
        try:
            for run in runs.values():
                run.start()
            for run in runs.values():
                run.wait_for_output("ready")
            live = runs[3600.0].live()
            started_at = time.monotonic()
            for jump in JUMPS:
                clock.jump(jump)
                time.sleep(0.5)
                assert is_running(live.worker.pid)
            clock.jump(-DAY_S)
            over = runs[3.0].exit(10)
            taken = time.monotonic() - started_at
            assert over.stop_reason == "time_limit"
            assert is_running(live.worker.pid)
            runs[3600.0].ask("stop", grace_s=0)
            assert runs[3600.0].exit().stop_reason == "user_cancel"
        finally:
            for run in runs.values():
                run.clean_up()
    record("12", f"clock ±1 day under the run host — a limit of 3 s held after {taken:.1f} s")
    assert 2 <= taken <= 6


# Fault 24: pids that belong to somebody else by now


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """Looks like a worker of another run, and dies of any signal it should not get."""
    environment = {**os.environ, "MOSAIC_RUN_ID": "7" * 26, "MOSAIC_ATTEMPT": "1"}
    process = subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_a_stranger_with_the_pid_of_a_dead_run_is_never_signalled(
    stranger: subprocess.Popen[bytes],
) -> None:
    """Files that name the stranger's pid: with another start time, or from before a reboot."""
    own = identity_of(stranger.pid)
    assert own is not None
    forgeries = {
        "restarted": ProcessIdentity(own.pid, own.start_ticks - 100, own.boot_id),
        "rebooted": ProcessIdentity(own.pid, own.start_ticks, "another-boot"),
        "locked": ProcessIdentity(own.pid, own.start_ticks - 100, own.boot_id),
    }
    with chaos_daemon() as daemon:
        runs = {name: daemon.submit_python(SLEEPER) for name in forgeries}
        lives = {name: daemon.live(run_id) for name, run_id in runs.items()}
        daemon.kill()
        for live in lives.values():
            os.kill(live.host.pid, signal.SIGKILL)
        workers = [live.worker.pid for live in lives.values()]
        wait_until(lambda: not any(map(is_running, workers)), 5, "the workers' ends")
        for name, live in lives.items():
            _forge(daemon, runs[name], live, forgeries[name])
        with _held_lock(daemon.attempt(runs["locked"]).lock):  # this one seems to be alive
            daemon.start()
            assert daemon.wait_over(runs["restarted"]).failure_reason == "lost"
            assert daemon.wait_over(runs["rebooted"]).failure_reason == "interrupted"
            assert not daemon.client.get_run(runs["locked"]).is_over
            daemon.client.stop_run(runs["locked"], grace_s=0)
            wait_until(lambda: daemon.logged("host.killed"), 40, "the daemon to lose its patience")
            wait_until(lambda: daemon.logged("host.replaced")[2:], 20, "the end of its efforts")
        assert daemon.wait_over(runs["locked"]).outcome == "canceled"
        daemon.remove_control_groups()
        wrong = stranger.poll() is not None
        record("24", f"forged pids — {int(wrong)} wrong signals in {len(forgeries)} recoveries")
        assert not wrong
        assert is_running(stranger.pid)


@contextmanager
def _held_lock(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _forge(daemon: ChaosDaemon, run_id: str, live: LiveRecord, identity: ProcessIdentity) -> None:
    files = daemon.attempt(run_id)
    forged = {**live.to_dict(), "host": identity.to_dict(), "worker": identity.to_dict()}
    atomic_write_json(files.live, forged)
    claim = read_json(files.claim)
    assert claim is not None
    atomic_write_json(files.claim, {**claim, **identity.to_dict()})


def test_a_pid_that_was_really_given_to_a_stranger_is_never_signalled(tmp_path: Path) -> None:
    namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], check=False).returncode:
        pytest.skip("no right to make a PID namespace")
    done = subprocess.run(
        [*namespace, sys.executable, "-m", "tests.chaos.pid_reuse", str(tmp_path / "home")],
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode == CANNOT_CHOOSE_PIDS:
        pytest.skip("no right to write ns_last_pid")
    assert done.returncode == 0
    result = json.loads(done.stdout)
    record("24", f"reused pids — {result['hits']} wrong signals after {result['reused']} reuses")
    assert result["hits"] == 0


# Fault 25: the machine was restarted


def test_runs_interrupted_by_a_reboot_say_so_or_start_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 10
    retry = {"max_attempts": 2, "backoff_seconds": 0}
    program = "import os, time; time.sleep(600 if os.environ['MOSAIC_ATTEMPT'] == '1' else 0)"
    monkeypatch.setenv("MOSAIC_FAKE_BOOT_ID", "boot-1")
    with chaos_daemon(MOSAIC_FAKE_BOOT_ID="boot-1") as daemon:

        def submit(**changes: Any) -> str:
            """Without the canary: secrets live in memory and do not survive a reboot."""
            return daemon.client.start_run(run_document(**python_run(program), **changes))

        once = [submit() for _ in range(count)]
        twice = [submit(retry=retry) for _ in range(count)]
        secret = daemon.submit_python(program, retry=retry)
        for run_id in (*once, *twice, secret):
            live = daemon.live(run_id)
            assert live.host.boot_id == "boot-1"
        daemon.kill()
        for run_id in (*once, *twice, secret):
            os.kill(daemon.live(run_id).host.pid, signal.SIGKILL)
        _forget_what_a_reboot_forgets(daemon)
        monkeypatch.setenv("MOSAIC_FAKE_BOOT_ID", "boot-2")
        daemon.environment["MOSAIC_FAKE_BOOT_ID"] = "boot-2"
        daemon.start()
        interrupted = sum(
            daemon.wait_over(run_id).failure_reason == "interrupted" for run_id in once
        )
        again = sum(
            (daemon.wait_over(run_id).outcome, daemon.client.get_run(run_id).attempt)
            == ("succeeded", 2)
            for run_id in twice
        )
        assert daemon.wait_over(secret).failure_reason == "secret_lost"
        record(
            "25",
            f"reboot — {interrupted}/{count} failed as interrupted, {again}/{count} with a retry "
            "left succeeded the 2nd time, and the one with a secret says that it is lost",
        )
        assert (interrupted, again) == (count, count)


def _forget_what_a_reboot_forgets(daemon: ChaosDaemon) -> None:
    for path in (*daemon.home.runtime.iterdir(), *daemon.secret_files()):
        path.unlink()
    daemon.remove_control_groups()
