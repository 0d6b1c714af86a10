"""Who descends from whom, read from /proc, and signals that can only hit those very processes."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    pid: int
    ppid: int
    state: str
    start_ticks: int

    @property
    def is_zombie(self) -> bool:
        return self.state in "ZX"


def parse_stat(pid: int, stat: bytes) -> Process:
    """One line of /proc/PID/stat; the command name in it may hold spaces and parentheses."""
    fields = stat[stat.rindex(b")") + 2 :].split(None, 20)
    return Process(pid, int(fields[1]), fields[0].decode(), int(fields[19]))


def descendants(parents: Iterable[tuple[int, int]], root: int) -> set[int]:
    """Everybody below `root`, given (pid, parent's pid) of all processes."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for pid, parent in parents:
        children[parent].append(pid)
    found: set[int] = set()
    pending = [root]
    while pending:
        for child in children[pending.pop()]:
            if child not in found and child != root:
                found.add(child)
                pending.append(child)
    return found


def read_process(pid: int) -> Process | None:
    stat = _read(f"/proc/{pid}/stat")
    return parse_stat(pid, stat) if stat else None


def resident_bytes(pid: int) -> int:
    statm = _read(f"/proc/{pid}/statm")
    return int(statm.split()[1]) * _PAGE_BYTES if statm else 0


def proportional_bytes(pid: int) -> int:
    """Its share of the memory it holds: a page that n processes map counts for one nth in each.

    The kernel looks at every page for it, tens of milliseconds for each gigabyte. Where we may not
    ask (a setuid program), it is all that is resident.
    """
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return resident_bytes(pid)


def living_descendants(root: int) -> list[Process]:
    """Zombies included: somebody still has to reap them."""
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    processes = {pid: process for pid in pids if (process := read_process(pid)) is not None}
    below = descendants(((each.pid, each.ppid) for each in processes.values()), root)
    return [processes[pid] for pid in below]


def send_signal(process: Process, number: signal.Signals) -> bool:
    """False when it is gone already; raises PermissionError for a process of another user."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        # The descriptor pins whoever has the pid now; only then is the comparison final.
        now = read_process(process.pid)
        if now is None or now.start_ticks != process.start_ticks:
            return False
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)
