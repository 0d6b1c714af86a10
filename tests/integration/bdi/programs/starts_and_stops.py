"""Starts and stops the embedded server again and again beside busy processes: COUNT FOLDER BUSY.

Each time an agent's connection is made, for that is where a server on a busy machine may hang.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import uvloop

from spade_bdi_rl_worker.agents.accounts import embedded_accounts
from spade_bdi_rl_worker.agents.agent import silence_libraries
from spade_bdi_rl_worker.agents.connection import Connection
from spade_bdi_rl_worker.agents.server_process import HOST, ServerProcess
from tests.integration.bdi.programs.scripted_team import exists, listening_ports

PATIENCE_S = 60.0


async def start_and_stop(folder: Path) -> tuple[float, float, int, int]:
    """Seconds until it listens, until somebody is connected, its process and its port."""
    server = ServerProcess(folder)
    started = time.monotonic()
    await server.start(0, PATIENCE_S)
    up_s = time.monotonic() - started
    pid, port = server.pid, server.port
    assert pid is not None
    assert listening_ports(pid) == [("0100007F", port)], listening_ports(pid)
    account = embedded_accounts(["learner"], HOST)["learner"]
    connection = Connection(
        account, server.address, lambda message: None, lambda client: None, lambda note: None
    )
    await connection.open(PATIENCE_S)
    connected_s = time.monotonic() - started
    await connection.close()
    await server.stop()
    assert not exists(pid)
    return up_s, connected_s, pid, port


async def main(count: int, folder: Path, busy: int) -> None:
    silence_libraries()
    burners = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(busy)
    ]
    descriptors = len(os.listdir("/proc/self/fd"))
    ups, connections = [], []
    try:
        for number in range(count):
            up_s, connected_s, *_ = await asyncio.wait_for(
                start_and_stop(folder / str(number)), 2 * PATIENCE_S
            )
            ups.append(up_s)
            connections.append(connected_s)
            if number == 0:  # what is opened once for all
                descriptors = len(os.listdir("/proc/self/fd"))
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    files = {path.name for path in folder.rglob("*") if path.is_file()}
    print(
        json.dumps(
            {
                "count": len(ups),
                "slowest_up_s": max(ups),
                "median_up_s": sorted(ups)[len(ups) // 2],
                "slowest_connected_s": max(connections),
                "median_connected_s": sorted(connections)[len(ups) // 2],
                "children": children,
                "descriptors_more": len(os.listdir("/proc/self/fd")) - descriptors,
                "files": sorted(files),
            }
        )
    )


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
