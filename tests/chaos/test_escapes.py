"""Fork bombs, and children that try to get away from their run (fault 11)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.chaos.chaos_daemon import ChaosDaemon, chaos_daemon
from tests.chaos.descendants import is_running
from tests.chaos.extent import assert_within, slowdown
from tests.chaos.figures import record
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

# What a bomb seems to use: every page its processes share counts once for each of them.
ROOMY = {"resources": {"cpus": 1, "memory_mb": 60_000}}


def children_of(daemon: ChaosDaemon, run_id: str) -> list[int]:
    """The pids a `forks` worker has printed."""
    said = daemon.wait_for_output(run_id, "ready")
    return [int(pid) for pid in re.findall(r"^child (\d+)$", said, re.MULTILINE)]


def seconds_to_fork() -> float:
    since = time.monotonic()
    subprocess.run(["true"], check=True)
    return time.monotonic() - since


def wait_all_dead(pids: list[int], since: float) -> float:
    wait_until(lambda: not any(map(is_running, pids)), 15, f"the end of {pids}")
    return time.monotonic() - since


@pytest.mark.parametrize("ending", ["stop", "exit", "kill"])
def test_no_child_outlives_its_run_however_it_ends(ending: str) -> None:
    """Half of the children are orphans in sessions of their own; all of them ignore SIGTERM."""
    count, children = 10, 6
    seconds, survivors = [], 0
    with chaos_daemon() as daemon:
        for _ in range(count):
            stay = "leave" if ending == "exit" else "stay"
            run_id = daemon.submit_script("forks", str(children), stay)
            pids = children_of(daemon, run_id)
            assert len(pids) == children
            since = time.monotonic()
            if ending == "stop":
                command = daemon.mosaic("stop", run_id, "--grace", "0.2")
                subprocess.run(command, env=daemon.environment, check=True, capture_output=True)
            elif ending == "kill":
                os.kill(daemon.live(run_id).worker.pid, signal.SIGKILL)
            daemon.wait_over(run_id)
            survivors += sum(map(is_running, pids))
            seconds.append(wait_all_dead(pids, since))
        record(
            "11",
            f"escaped children, end by {ending} — {survivors} of {count * children} alive once the "
            f"run was over, all gone within {max(seconds):.2f} s",
        )
        assert survivors == 0
        assert_within(max(seconds), 5)


def stop(daemon: ChaosDaemon, run_id: str) -> None:
    daemon.client.stop_run(run_id, grace_s=0.2)


def kill_leader(daemon: ChaosDaemon, run_id: str) -> None:
    os.kill(daemon.live(run_id).worker.pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [stop, kill_leader], ids=["stop", "kill"])
@pytest.mark.parametrize(("size", "moment"), [(2500, 50), (400, 400)], ids=["early", "late"])
def test_a_fork_bomb_is_swept_and_the_machine_still_forks(
    end: Callable[[ChaosDaemon, str], None], size: int, moment: int
) -> None:
    """Ended while it explodes, and after."""
    slower = slowdown()
    with chaos_daemon() as daemon:
        before = crowd()
        run_id = daemon.submit_script("fork_bomb", str(size), **ROOMY)
        daemon.live(run_id)
        wait_until(lambda: crowd() - before >= moment, 30, "the explosion")
        alive = crowd() - before
        since = time.monotonic()
        end(daemon, run_id)
        forking = seconds_to_fork()
        daemon.wait_over(run_id)
        taken = time.monotonic() - since
        survivors = [pid for pid in members(run_id) if is_running(pid)]
        record(
            "11",
            f"fork bomb of {size}, ended by {end.__name__} at about {alive} processes — "
            f"{len(survivors)} survivors after {taken:.2f} s; a new process took {forking:.2f} s",
        )
        assert survivors == []
        assert_within(taken, 5, slower)
        assert_within(forking, 5, slower)


def crowd() -> int:
    """How many processes there are on this machine; quick, unlike looking at each."""
    return sum(map(str.isdigit, os.listdir("/proc")))


def members(run_id: str) -> list[int]:
    """Every process with the run's id in its environment."""
    mark = f"MOSAIC_RUN_ID={run_id}".encode()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def test_a_bomb_beyond_the_process_limit_ends_as_a_typed_failure() -> None:
    """`max_processes` is 4096 for every run, and the kernel holds it where it lets us ask."""
    with chaos_daemon() as daemon:
        run_id = daemon.submit_script("fork_bomb", "4400", **ROOMY)
        since = time.monotonic()
        over = daemon.wait_over(run_id, 120)
        taken = time.monotonic() - since
        forking = seconds_to_fork()
        record(
            "11",
            f"fork bomb beyond the limit — {over.failure_reason} after {taken:.1f} s, "
            f"{len(members(run_id))} survivors, a new process took {forking:.2f} s",
        )
        assert over.failure_reason == "process_limit"
        assert not members(run_id)
