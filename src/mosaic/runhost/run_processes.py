"""The processes of a run: found, counted, measured, signalled, killed and reaped."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from mosaic.runhost.control_groups import ControlGroups

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


# -- Who descends from whom, and signals that can only hit those very processes


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
    """All descendants of `root`, given (pid, parent's pid) of all processes."""
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


class Usage(NamedTuple):
    processes: int
    memory_mb: float


def exceeded_limit(usage: Usage, memory_mb: int | None, max_processes: int) -> str:
    """The stop reason for what the run uses too much of; empty when it is within its limits."""
    if memory_mb is not None and usage.memory_mb > memory_mb:
        return "memory_limit"
    if usage.processes > max_processes:
        return "process_limit"
    return ""


class RunProcesses:
    """The host is a subreaper, so every process of the run stays below it in the tree."""

    def __init__(self, groups: ControlGroups) -> None:
        self._groups = groups
        self._host = os.getpid()
        # Processes of another user (setuid programs): we may look but not touch.
        self._out_of_reach: set[tuple[int, int]] = set()
        self.killed_pids: set[int] = set()

    def pids(self) -> set[int]:
        members = self._groups.members()
        return {process.pid for process in self.present()} if members is None else members

    def present(self) -> list[Process]:
        """Every process below the host that we can still end or have to reap."""
        return [each for each in living_descendants(self._host) if not self._is_foreign(each)]

    def signal_all(self, *numbers: signal.Signals) -> None:
        for process in self.present():
            for number in numbers:
                self._send(process, number)

    def signal_leader(self, pid: int, *numbers: signal.Signals) -> None:
        leader = read_process(pid)
        if leader is not None:
            for number in numbers:
                self._send(leader, number)

    def kill_all(self) -> None:
        """Kill all living processes. Call again until none is left."""
        if self._groups.can_kill:
            # First of all: a fork bomb grows faster than we can look at every process.
            self.killed_pids |= self._groups.members() or set()
            self._groups.kill()
        for process in self._freeze():
            self._send(process, signal.SIGKILL)
            self.killed_pids.add(process.pid)

    def _freeze(self) -> list[Process]:
        """Stop all before killing any: a stopped process cannot fork a replacement."""
        frozen: dict[tuple[int, int], Process] = {}
        for _round in range(20):
            fresh = [each for each in self._living() if (each.pid, each.start_ticks) not in frozen]
            if not fresh or self._groups.can_kill:
                return [*frozen.values(), *fresh]
            for process in fresh:
                self._send(process, signal.SIGSTOP)
                frozen[process.pid, process.start_ticks] = process
        return list(frozen.values())

    def _living(self) -> Iterable[Process]:
        return (process for process in self.present() if not process.is_zombie)

    def _send(self, process: Process, number: signal.Signals) -> None:
        try:
            send_signal(process, number)
        except PermissionError:
            self._out_of_reach.add((process.pid, process.start_ticks))

    def _is_foreign(self, process: Process) -> bool:
        return (process.pid, process.start_ticks) in self._out_of_reach


# The largest share of our time spent on looking at every page: while the run may be above its
# limit, and otherwise.
WORRIED_SHARE = 0.05
CALM_SHARE = 0.005
_MB = 1_048_576


class MemoryMeter:
    """How much memory a run holds, with pages that its processes share counted once."""

    def __init__(self, groups: ControlGroups, limit_mb: int | None) -> None:
        self._groups = groups
        self._limit_mb = limit_mb
        self._shared_fairly_mb = float("inf")  # as of the last look at every page
        self._looked_at = float("-inf")
        self._look_took_s = 0.0
        self.peak_mb = 0.0

    def used_mb(self, pids: Collection[int]) -> float:
        """By the run's control group where it counts memory, else by what its processes map."""
        counted = self._groups.memory_bytes()
        used = counted / _MB if counted is not None else self._mapped_mb(pids)
        self.peak_mb = max(self.peak_mb, used)
        return used

    def _mapped_mb(self, pids: Collection[int]) -> float:
        # Too high when processes share pages, but never too low, and cheap.
        at_most = sum(map(resident_bytes, pids)) / _MB
        if len(pids) < 2:
            return at_most
        is_worrying = self._limit_mb is not None and at_most > self._limit_mb
        pause_s = self._look_took_s / (WORRIED_SHARE if is_worrying else CALM_SHARE)
        now = time.monotonic()
        if now >= self._looked_at + pause_s:
            self._shared_fairly_mb = sum(map(proportional_bytes, pids)) / _MB
            self._looked_at = time.monotonic()
            self._look_took_s = self._looked_at - now
        return min(at_most, self._shared_fairly_mb)


class Reaper:
    """Reaps the worker and the orphans the host adopts, and adds up what they used."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self.leader_status: int | None = None
        self.cpu_seconds = 0.0
        self.max_rss_mb = 0.0

    @property
    def leader_is_over(self) -> bool:
        return self.leader_status is not None

    @property
    def exit_code(self) -> int | None:
        return self._outcome if self._outcome is not None and self._outcome >= 0 else None

    @property
    def signal(self) -> int | None:
        return -self._outcome if self._outcome is not None and self._outcome < 0 else None

    def reap(self) -> bool:
        """Reap every child that has ended; true while we still have children."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            # Each one's figures include the children it waited for itself.
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            self.max_rss_mb = max(self.max_rss_mb, usage.ru_maxrss / 1024)
            if pid == self._leader:
                self.leader_status = status

    @property
    def _outcome(self) -> int | None:
        status = self.leader_status
        return None if status is None else os.waitstatus_to_exitcode(status)
