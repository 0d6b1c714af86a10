"""Workers and run hosts that are killed, stopped or become zombies (faults 1, 1b, 3, 21, 23)."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from mosaic.contracts.run_record import RunRecord
from mosaic.files import read_json
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, chaos_daemon
from tests.chaos.descendants import is_running
from tests.chaos.figures import record
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

STEPPER = """
import sys, time
for step in range(100_000):
    print("step", step, file=sys.stderr, flush=True)
    time.sleep(0.01)
"""
FIRST_ATTEMPT_HANGS = """
import os, time
if os.environ["MOSAIC_ATTEMPT"] == "1":
    time.sleep(600)
"""

PROVES_ITS_START = """
import os, sys, time
os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), b"started\\n")
time.sleep(float(sys.argv[2]))
"""

# Leaves two processes that nothing connects with the run any more, but for its control group.
ESCAPES_WITHOUT_A_TRACE = """
import os, time
for _ in range(2):
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        print("child", os.getpid(), flush=True)
        os.execve("/bin/sleep", ["sleep", "600"], {})
    os.waitpid(child, 0)
time.sleep(600)
"""
FOLLOWER = """
import sys
from mosaic.client import TrainerClient
for record in TrainerClient(sys.argv[1], autostart=False).watch([sys.argv[2]]):
    print(record.state, flush=True)
"""


def kill(pid: int) -> float:
    os.kill(pid, signal.SIGKILL)
    return time.monotonic()


def wait_dead(pid: int, timeout_s: float = 10) -> float:
    wait_until(lambda: not is_running(pid), timeout_s, f"process {pid} to die")
    return time.monotonic()


def label(run: RunRecord) -> str:
    return f"{run.outcome} {run.failure_reason}"


def test_every_killed_worker_is_recorded_within_a_second_and_frees_its_slot() -> None:
    """100 runs on 4 slots: the next can only start because the one before has freed its slot."""
    count, slots, seed = 100, 4, 1
    chance = random.Random(seed)
    with chaos_daemon(MOSAIC_CPUS=str(slots)) as daemon:
        runs = [daemon.submit_python(STEPPER) for _ in range(count)]
        pauses = [chance.choice((0.0, chance.uniform(0, 0.2))) for _ in runs]

        def kill_worker(run_id: str, pause_s: float) -> tuple[str, float, tuple[str, ...]]:
            worker = daemon.live(run_id).worker.pid
            time.sleep(pause_s)
            killed_at = kill(worker)
            over = daemon.wait_over(run_id)
            return label(over), time.monotonic() - killed_at, over.stderr_tail

        with ThreadPoolExecutor(slots) as killers:
            results = list(killers.map(kill_worker, runs, pauses))
        right = sum(text == "failed signal_9" for text, _, _ in results)
        seconds = sorted(taken for _, taken, _ in results)
        in_time = sum(taken <= 1.0 for taken in seconds)
        tails = sum(any("step" in line for line in tail) for _, _, tail in results)
        record(
            "1",
            f"kill -9 of the worker — {right}/{count} recorded as failed signal_9, {in_time} "
            f"within 1 s (median {seconds[count // 2]:.3f} s, slowest {seconds[-1]:.3f} s), "
            f"{count} runs through {slots} slots, {tails} with the log's tail",
        )
        assert (right, in_time) == (count, count)
        assert tails >= count // 4  # many are killed before they have said anything


def test_a_killed_worker_with_retries_is_started_again() -> None:
    count = 10
    with chaos_daemon() as daemon:
        retry = {"max_attempts": 2, "backoff_seconds": 0}
        runs = [daemon.submit_python(FIRST_ATTEMPT_HANGS, retry=retry) for _ in range(count)]
        for run_id in runs:
            kill(daemon.live(run_id).worker.pid)
        over = [daemon.wait_over(run_id) for run_id in runs]
        again = sum((run.attempt, run.outcome) == (2, "succeeded") for run in over)
        record("1", f"kill -9 of a worker with a retry left — {again}/{count} succeed the 2nd time")
        assert again == count


def test_nothing_survives_a_killed_run_host() -> None:
    count, batch = 20, 5
    deaths, survivors, contained = [], 0, 0
    with chaos_daemon() as daemon:
        for _ in range(count // batch):
            runs = [daemon.submit_script("forks", "4", "stay") for _ in range(batch)]
            for run_id in runs:
                said = daemon.wait_for_output(run_id, "ready")
                children = [int(line.split()[1]) for line in said.splitlines() if "child" in line]
                live = daemon.live(run_id)
                killed_at = kill(live.host.pid)
                deaths.append(wait_dead(live.worker.pid) - killed_at)
                over = daemon.wait_over(run_id)
                assert label(over) == "failed lost"
                survivors += sum(map(is_running, children))
                contained += live.containment == "cgroup"
        record(
            "1b",
            f"kill -9 of the run host — worker dead within {max(deaths):.3f} s {len(deaths)}/"
            f"{count}, all recorded as lost, {survivors} of {4 * count} children in sessions of "
            f"their own survived ({contained} runs in control groups)",
        )
        assert max(deaths) <= 1.0
        # Without control groups they are found by their environment, which they could have wiped.
        assert survivors == 0


def test_a_control_group_ends_what_wiped_its_environment_when_the_host_is_killed() -> None:
    count, survivors = 5, 0
    with chaos_daemon() as daemon:
        for _ in range(count):
            run_id = daemon.submit_python(ESCAPES_WITHOUT_A_TRACE)
            live = daemon.live(run_id)
            if live.containment != "cgroup" or not _has_cgroup_kill(daemon):
                pytest.skip("no cgroup v2 that we may use: such processes cannot be found")
            said = wait_until(partial(_two_children, daemon, run_id), 20)
            for pid in said:
                wait_until(partial(_is_sleep, pid), 10, "its new program")
            kill(live.host.pid)
            assert label(daemon.wait_over(run_id)) == "failed lost"
            survivors += sum(map(is_running, said))
        record(
            "1b",
            f"kill -9 of the run host — {survivors} of {2 * count} orphans in sessions and with "
            "environments of their own survived, thanks to cgroup v2",
        )
        assert survivors == 0


def _has_cgroup_kill(daemon: ChaosDaemon) -> bool:
    return any((group / "cgroup.kill").exists() for group in daemon.control_groups())


def _two_children(daemon: ChaosDaemon, run_id: str) -> list[int]:
    lines = daemon.output(run_id).splitlines()
    pids = [int(line.split()[1]) for line in lines if line.startswith("child")]
    return pids if len(pids) == 2 else []


def _is_sleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep")


def test_a_run_host_killed_while_it_starts_never_runs_the_worker_twice(tmp_path: Path) -> None:
    """Killed at any moment of its start, the attempt either provably never began or is lost."""
    count, seed = 32, 2
    chance = random.Random(seed)
    moments = ("", "lock", "claim", "live.json")
    fates: dict[str, int] = {}
    twice = 0
    with chaos_daemon() as daemon:
        assert daemon.process is not None
        for number in range(count):
            proof = tmp_path / str(number)
            known = {child.pid for child in psutil.Process(daemon.process.pid).children()}
            run_id = daemon.submit_python(PROVES_ITS_START, str(proof), "0.3")
            host = wait_until(partial(_new_child, daemon, known), 10, "a run host")
            folder = daemon.attempt(run_id).directory
            moment = folder / moments[number % len(moments)]
            wait_until(moment.exists, 10, str(moment))
            time.sleep(chance.uniform(0, 0.03))
            kill(host)
            over = daemon.wait_over(run_id)
            started = len(proof.read_text().splitlines()) if proof.exists() else 0
            twice += started > 1
            fate = "requeued" if over.attempt > 1 else label(over)
            fates[fate] = fates.get(fate, 0) + 1
            assert over.outcome == "succeeded" or over.failure_reason == "lost"
            assert started == 1 or over.failure_reason == "lost"
        record("1b", f"kill -9 of a starting run host — {count} kills: {fates}, {twice} ran twice")
        assert twice == 0


def _new_child(daemon: ChaosDaemon, known: set[int]) -> int | None:
    assert daemon.process is not None
    for child in psutil.Process(daemon.process.pid).children():
        if child.pid not in known and is_running(child.pid):
            return child.pid
    return None


def _is_stalled(daemon: ChaosDaemon, run_id: str, expected: bool) -> bool:
    return bool(daemon.client.get_run(run_id).stalled) == expected


def test_a_stopped_worker_is_flagged_but_not_killed_and_can_be_canceled() -> None:
    grace_s = 2.0
    with chaos_daemon() as daemon:
        script = daemon.submit_python(STEPPER)
        worker = daemon.submit(config={"episodes": 100_000, "max_steps_per_second": 100.0})
        daemon.wait_for(worker, "EXEC")
        flagged, cleared = [], []
        for run_id in (script, worker):
            pid = daemon.live(run_id).worker.pid
            os.kill(pid, signal.SIGSTOP)
            since = time.monotonic()
            wait_until(partial(_is_stalled, daemon, run_id, True), 20, "a flag")
            flagged.append(time.monotonic() - since)
            time.sleep(2)  # time enough for a hasty watchdog
            assert is_running(pid)
            assert daemon.client.get_run(run_id).attempt == 1
            os.kill(pid, signal.SIGCONT)
            since = time.monotonic()
            wait_until(partial(_is_stalled, daemon, run_id, False), 6, "clear")
            cleared.append(time.monotonic() - since)
        stubborn = daemon.submit_script("hangs")
        daemon.wait_for_output(stubborn, "ready")
        canceled = []
        for run_id in (script, worker, stubborn):
            os.kill(daemon.live(run_id).worker.pid, signal.SIGSTOP)
            since = time.monotonic()
            daemon.client.stop_run(run_id, grace_s=grace_s)
            over = daemon.wait_over(run_id)
            canceled.append(time.monotonic() - since)
            assert over.outcome == "canceled"
        record(
            "3",
            f"SIGSTOP — flagged after {max(flagged):.1f} s, cleared {max(cleared):.1f} s after "
            f"SIGCONT, nothing killed; canceled while stopped in {max(canceled):.1f} s "
            f"with {grace_s:.0f} s of grace",
        )
        assert max(flagged) <= 20
        assert max(cleared) <= 6
        assert max(canceled) <= grace_s + 2


def test_a_worker_that_reaps_nobody_ends_within_two_seconds() -> None:
    with chaos_daemon() as daemon:
        seconds = []
        for way in ("kill", "stop"):
            run_id = daemon.submit_script("zombie", "20")
            daemon.wait_for_output(run_id, "ready")
            since = time.monotonic()
            if way == "kill":
                kill(daemon.live(run_id).worker.pid)
            else:
                daemon.client.stop_run(run_id)
            daemon.wait_over(run_id)
            seconds.append(time.monotonic() - since)
        record("23", f"worker with 20 zombies — killed or stopped, over in {max(seconds):.2f} s")
        assert max(seconds) <= 2


def test_a_run_host_that_stays_a_zombie_counts_as_dead() -> None:
    """Nobody reaps the hosts of a daemon that was killed: neither the next one nor this test."""
    with chaos_daemon() as daemon:
        runs = [daemon.submit_python(SLEEPER) for _ in range(6)]
        lives = [daemon.live(run_id) for run_id in runs]
        daemon.kill()
        for live in lives[:2]:  # a zombie before the next daemon looks
            kill(live.host.pid)
        daemon.start()
        started_at = time.monotonic()
        early = [_seconds_until_over(daemon, run_id, started_at) for run_id in runs[:2]]
        late = []
        for run_id, live in zip(runs[2:4], lives[2:4], strict=True):
            late.append(_seconds_until_over(daemon, run_id, kill(live.host.pid)))
        for run_id, live in zip(runs[4:], lives[4:], strict=True):  # its host ends in peace
            late.append(_seconds_until_over(daemon, run_id, kill(live.worker.pid)))
            assert read_json(daemon.attempt(run_id).exit) is not None
        states = {psutil.Process(live.host.pid).status() for live in lives}
        assert states == {psutil.STATUS_ZOMBIE}
        record(
            "23",
            f"zombie run host — terminal {max(early):.2f} s after the daemon's start, "
            f"{max(late):.2f} s after its end",
        )
        assert max(early + late) <= 2


def _seconds_until_over(daemon: ChaosDaemon, run_id: str, since: float) -> float:
    daemon.wait_over(run_id)
    return time.monotonic() - since


def test_killed_clients_take_nothing_with_them_and_new_ones_are_back_at_once() -> None:
    count = 20
    settings = ("env_id=CartPole-v1", "episodes=100000", "max_steps_per_second=200")
    config = [part for setting in settings for part in ("--set", setting)]
    with chaos_daemon() as daemon:
        with _client_to_be_killed(daemon, daemon.mosaic("run", "baseline", *config)):
            (run,) = wait_until(lambda: daemon.client.list_runs(), 20, "the run")
            daemon.wait_for(run.run_id, "EXEC")
        worker = daemon.live(run.run_id).worker.pid
        followers = (
            [sys.executable, "-c", FOLLOWER, str(daemon.home.root), run.run_id],
            daemon.mosaic("events", "--follow", run.run_id),
        )
        seconds = []
        for number in range(count - 1):
            since = time.monotonic()
            with _client_to_be_killed(daemon, followers[number % 2]) as client:
                assert client.stdout is not None
                assert select.select([client.stdout], [], [], 15)[0], "it shows nothing"
                assert client.stdout.readline()
                seconds.append(time.monotonic() - since)
        steps = daemon.client.get_run(run.run_id).progress.steps
        wait_until(lambda: daemon.client.get_run(run.run_id).progress.steps > steps, 5, "steps")
        now = daemon.client.get_run(run.run_id)
        assert (now.state, now.attempt, now.stalled) == ("EXEC", 1, "")
        assert is_running(worker)
        record(
            "21",
            f"kill -9 of {count} clients, the one that started the run among them — 0 runs "
            f"affected, a new client was back in {max(seconds):.2f} s",
        )
        assert max(seconds) <= 3


@contextmanager
def _client_to_be_killed(
    daemon: ChaosDaemon, command: list[str]
) -> Iterator[subprocess.Popen[bytes]]:
    client = subprocess.Popen(
        command, env=daemon.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield client
    finally:
        client.kill()
        client.communicate(timeout=10)
