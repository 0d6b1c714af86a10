"""For the daemon: which processes host and execute an attempt, and the end of a dead host's.

The attempt's files say where to look, the kernel decides. A run host is recognised by its program
and by the attempt's lock, which it keeps open for as long as it lives. So a file that names the
wrong process, or none, neither hides a host nor invents one.

The worker dies with its host. What it had forked into other sessions does not, and is found by the
attempt's control groups and by the variables every process of a run inherits.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from mosaic.contracts.run_files import AttemptFiles
from mosaic.contracts.worker_environment import ATTEMPT, RUN_ID
from mosaic.errors import CorruptStoreError
from mosaic.files import is_locked
from mosaic.processes import ProcessIdentity, boot_id, identity_of, is_alive
from mosaic.runhost.attempt_files import read_claim, read_live
from mosaic.runhost.control_groups import (
    ControlGroups,
    group_members,
    group_name,
    is_group_path,
    planned_groups,
)
from mosaic.runhost.run_processes import Process, living_descendants, read_process, send_signal

_HOST_PROGRAM = b"mosaic/runhost/__main__.py"


def find_host(files: AttemptFiles) -> ProcessIdentity | None:
    """The living run host of the attempt."""
    host = claimed_host(files)
    if host is None and _is_search_due(files):
        pid = next((pid for pid in _all_pids() if _hosts(pid, files)), None)
        return None if pid is None else identity_of(pid)
    return host


def claimed_host(files: AttemptFiles) -> ProcessIdentity | None:
    """The host that the claim names, if it lives and is one."""
    try:
        claim = read_claim(files)
    except CorruptStoreError:
        return None
    if claim is None or claim.host is None or not is_alive(claim.host):
        return None
    return claim.host if _hosts(claim.host.pid, files) else None


def find_worker(files: AttemptFiles, host: ProcessIdentity) -> ProcessIdentity | None:
    """The worker below that host: as live.json has it, or the child the host has had longest."""
    try:
        live = read_live(files)
    except CorruptStoreError:
        live = None
    if live is not None and is_alive(live.worker):
        process = read_process(live.worker.pid)
        if process is not None and process.ppid == host.pid:
            return live.worker
    children = [each for each in living_descendants(host.pid) if each.ppid == host.pid]
    oldest = min(children, key=lambda each: (each.start_ticks, each.pid), default=None)
    return None if oldest is None else ProcessIdentity(oldest.pid, oldest.start_ticks, boot_id())


def _is_search_due(files: AttemptFiles) -> bool:
    """A sound claim whose host is gone is the usual case after a crash, and says everything."""
    try:
        return read_claim(files) is None or is_locked(files.lock)
    except CorruptStoreError:
        return True


def _hosts(pid: int, files: AttemptFiles) -> bool:
    # The folder itself may have become a link since; `realpath` copes with loops.
    attempts = os.path.realpath(files.directory.parent)
    lock = f"{attempts}/{files.directory.name}/{files.lock.name}"
    process = Path(f"/proc/{pid}")
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
        if not any(word.endswith(_HOST_PROGRAM) for word in words):
            return False
        # The kernel adds this to the name of a file that was removed, as a worker might do.
        return any(link in (lock, f"{lock} (deleted)") for link in _open_files(process))
    except OSError:
        return False  # gone, or another user's


def _open_files(process: Path) -> Iterator[str]:
    for descriptor in (process / "fd").iterdir():
        try:
            yield str(descriptor.readlink())
        except OSError:
            continue


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


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
    # Whoever still holds it is the host, whatever the claim says, or somebody who does not count.
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
