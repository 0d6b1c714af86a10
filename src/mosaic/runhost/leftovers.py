"""For the daemon: clean up after a run host that was itself killed.

The worker dies with its host. What it had forked into other sessions does not, and is found here
by the attempt's control groups and by the variables every process of a run inherits.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from mosaic.contracts.run_files import AttemptFiles
from mosaic.contracts.worker_environment import ATTEMPT, RUN_ID
from mosaic.errors import CorruptStoreError
from mosaic.files import is_locked
from mosaic.processes import boot_id
from mosaic.runhost.attempt_files import read_claim
from mosaic.runhost.attempt_processes import claimed_host, find_host
from mosaic.runhost.control_groups import (
    ControlGroups,
    group_members,
    group_name,
    is_group_path,
    planned_groups,
)
from mosaic.runhost.process_tree import Process, read_process, send_signal

_KILL_AGAIN_S = 0.01


def kill_leftovers(files: AttemptFiles, run_id: str, attempt: int, timeout_s: float = 5.0) -> int:
    """Kill what a dead host left and remove its groups; returns how many processes there were.

    Does nothing while the host lives. Blocks until all are gone, at most twice `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    # A worker that was just being forked holds its dead host's lock for another moment.
    while is_locked(files.lock) and time.monotonic() < deadline:
        if claimed_host(files) is not None:
            return 0
        time.sleep(_KILL_AGAIN_S)
    # Who holds it even now is the host, whatever the claim says, or somebody without a say.
    if find_host(files) is not None:
        return 0
    deadline = time.monotonic() + timeout_s
    groups = ControlGroups(_groups_of(files, group_name(run_id, attempt)))
    markers = {f"{RUN_ID}={run_id}".encode(), f"{ATTEMPT}={attempt}".encode()}
    killed: set[tuple[int, int]] = set()
    while living := _leftovers(groups, markers):
        groups.kill()
        for process in living:
            killed.add((process.pid, process.start_ticks))
            try:
                send_signal(process, signal.SIGKILL)
            except PermissionError:
                continue
        if time.monotonic() > deadline:
            break
        time.sleep(_KILL_AGAIN_S)
    while not groups.remove() and time.monotonic() < deadline:
        time.sleep(_KILL_AGAIN_S)
    return len(killed)


def _leftovers(groups: ControlGroups, markers: set[bytes]) -> list[Process]:
    pids = {int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    marked = {pid for pid in pids - {os.getpid()} if markers <= _environment(pid)}
    marked.update(*(group_members(group) for group in groups.groups))
    processes = (read_process(pid) for pid in marked)
    return [each for each in processes if each is not None and not each.is_zombie]


def _environment(pid: int) -> set[bytes]:
    try:
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return set()  # gone, or somebody else's


def _groups_of(files: AttemptFiles, name: str) -> list[str]:
    """The groups the dead host announced, if it was killed in this very boot.

    Where the claim cannot tell, those that a host of ours would have made.
    """
    try:
        claim = read_claim(files)
    except CorruptStoreError:
        claim = None
    if claim is None or claim.host is None:
        return planned_groups(name)
    if claim.host.boot_id != boot_id():
        return []
    return [group for group in claim.groups if is_group_path(group) and Path(group).name == name]
