"""All processes of the run as one thing to count, signal and kill."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from typing import NamedTuple

from mosaic.runhost.control_groups import ControlGroups
from mosaic.runhost.process_tree import (
    Process,
    living_descendants,
    read_process,
    send_signal,
)


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
        """Everyone below the host whom we could still end or have to reap."""
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
        """Kill everyone who is alive. Call again until nobody is left."""
        if self._groups.can_kill:
            # First of all: a bomb explodes faster than we can look at every process.
            self.killed_pids |= self._groups.members() or set()
            self._groups.kill()
        for process in self._freeze():
            self._send(process, signal.SIGKILL)
            self.killed_pids.add(process.pid)

    def _freeze(self) -> list[Process]:
        """Stop everyone before killing anyone: what is stopped cannot fork a replacement."""
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
