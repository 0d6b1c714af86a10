"""Run as the first process of a PID namespace: gives pids of dead processes to strangers.

`unshare --pid --fork --mount-proc python -m tests.chaos.pid_reuse HOME` prints as JSON how many
pids were reused and how many strangers were hit. Exit code 77: pids cannot be chosen here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from mosaic.processes import identity_of, is_alive, send_signal
from mosaic.runhost import run_processes
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon
from tests.waiting import wait_until

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
CANNOT_CHOOSE_PIDS = 77
DIRECT_REUSES, RUN_REUSES = 20, 3


def stranger_with(pid: int) -> subprocess.Popen[bytes]:
    for _ in range(200):
        LAST_PID.write_text(str(pid - 1))
        stranger = subprocess.Popen(["sleep", "600"])
        if stranger.pid == pid:
            return stranger
        stranger.kill()  # somebody else was quicker
        stranger.wait()
    raise AssertionError(f"pid {pid} was never free")


def signal_a_reused_pid() -> bool:
    """Whether a signal meant for a dead process hit the stranger who has its pid."""
    dead = subprocess.Popen(["sleep", "600"])
    identity = identity_of(dead.pid)
    process = run_processes.read_process(dead.pid)
    assert identity is not None
    assert process is not None
    time.sleep(0.02)  # a start time has a resolution of 10 ms
    dead.kill()
    dead.wait()
    stranger = stranger_with(dead.pid)
    os.kill(dead.pid, 0)  # what a plain look at the pid would take for a sign of life
    sent = (
        is_alive(identity),
        send_signal(identity, signal.SIGKILL),
        run_processes.send_signal(process, signal.SIGKILL),
    )
    was_hit = any(sent) or stranger.poll() is not None
    stranger.kill()
    stranger.wait()
    return was_hit


def is_reaped(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def recover_a_run_with_reused_pids(daemon: ChaosDaemon) -> bool:
    """Whether recovery hit the strangers that have the pids of a dead run host and worker."""
    run_id = daemon.submit_python(SLEEPER)
    live = daemon.live(run_id)
    daemon.kill()
    os.kill(live.host.pid, signal.SIGKILL)
    for pid in (live.host.pid, live.worker.pid):  # orphans of the daemon are ours here
        wait_until(partial(is_reaped, pid), 10, f"the end of {pid}")
    strangers = [stranger_with(live.host.pid), stranger_with(live.worker.pid)]
    daemon.start()
    over = daemon.wait_over(run_id)
    assert over.failure_reason == "lost", over
    was_hit = any(stranger.poll() is not None for stranger in strangers)
    for stranger in strangers:
        stranger.kill()
        stranger.wait()
    return was_hit


def main() -> int:
    try:
        LAST_PID.write_text("1000")
    except OSError:
        return CANNOT_CHOOSE_PIDS
    hits = sum(signal_a_reused_pid() for _ in range(DIRECT_REUSES))
    daemon = ChaosDaemon(Path(sys.argv[1]))
    daemon.start()
    hits += sum(recover_a_run_with_reused_pids(daemon) for _ in range(RUN_REUSES))
    daemon.close()
    daemon.assert_nothing_left()
    print(json.dumps({"reused": DIRECT_REUSES + 2 * RUN_REUSES, "hits": hits}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
