"""Starts many daemons of one home in the same instant: `python -m tests.chaos.rivals HOME`.

Each line `COUNT SIGNAL` on standard input is a round: so many daemons start at once, and once all
but one have given up, the survivor is sent the signal. Importing takes far longer than the race
itself, so it happens once, here; every daemon is then a fork that has nothing to do but start.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mosaic.daemon.__main__ import main as daemon_main
from mosaic.files import read_json
from mosaic.paths import Home

PATIENCE_S = 30.0


def play_round(home: Home, count: int, ending: signal.Signals) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="mosaic-rivals-") as folder:
        gate, opener = os.pipe()
        pids = [start_behind_gate(home, gate, opener, Path(folder)) for _ in range(count)]
        os.close(gate)
        os.close(opener)
        statuses = wait_for_losers(pids)
        winners = [pid for pid in pids if pid not in statuses]
        is_announced = len(winners) == 1 and wait_for_announcement(home, winners[0])
        for pid in winners:
            os.kill(pid, ending)
            os.waitpid(pid, 0)
        losers = [
            {"status": status, "said": (Path(folder) / str(pid)).read_text()}
            for pid, status in statuses.items()
        ]
    return {"winners": winners, "announced": is_announced, "losers": losers}


def start_behind_gate(home: Home, gate: int, opener: int, folder: Path) -> int:
    pid = os.fork()
    if pid == 0:
        os.close(opener)
        os.setsid()
        fd = os.open(folder / str(os.getpid()), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(fd, 2)
        os.read(gate, 1)  # returns when the last opener is closed
        status = daemon_main(["--home", str(home.root)])
        sys.stderr.flush()
        os._exit(status)
    return pid


def wait_for_losers(pids: list[int]) -> dict[int, int]:
    statuses: dict[int, int] = {}
    deadline = time.monotonic() + PATIENCE_S
    while len(statuses) < len(pids) - 1 and time.monotonic() < deadline:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            statuses[pid] = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.002)
    return statuses


def wait_for_announcement(home: Home, pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if (read_json(home.daemon_info) or {}).get("pid") == pid:
            return True
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return False
        time.sleep(0.002)
    return False


def main() -> None:
    home = Home(Path(sys.argv[1]))
    for line in sys.stdin:
        count, ending = line.split()
        print(json.dumps(play_round(home, int(count), signal.Signals[ending])), flush=True)


if __name__ == "__main__":
    main()
