"""A running worker: what may be asked of it, and the limits it must keep."""

from __future__ import annotations

import math
import signal
import time
from collections import deque
from typing import Any

from mosaic.contracts.run_files import AttemptSpec
from mosaic.runhost.control import CommandError, WorkerInput
from mosaic.runhost.linux import machine_oom_kills
from mosaic.runhost.logs import HostLog
from mosaic.runhost.run_processes import (
    MemoryMeter,
    Reaper,
    RunProcesses,
    Usage,
    exceeded_limit,
    read_process,
)
from mosaic.runhost.spawning import Launch
from mosaic.runhost.worker_output import WorkerOutput


class StopPlan:
    """When a run has to be over, and why: asked for once or often, it only ever gets sooner."""

    def __init__(self) -> None:
        # The first reason stays: what follows (another stop, a limit) is a consequence.
        self.reason = ""
        self.deadline = math.inf

    @property
    def is_stopping(self) -> bool:
        return bool(self.reason)

    def request(self, reason: str, grace_s: float, now: float) -> bool:
        """True for the first request, which must be passed on to the worker."""
        is_first = not self.is_stopping
        if is_first:
            self.reason = reason
        self.deadline = min(self.deadline, now + grace_s)
        return is_first

    def is_due(self, now: float) -> bool:
        return now >= self.deadline


POLL_S = 0.5
# Looking at thousands of processes takes a while; never spend more than this share on it.
MOST_POLLING = 0.05
KILL_AGAIN_S = 0.05
# A large process takes seconds to die: at most this many polls pass between kill and end.
OOM_POLLS = 20


def boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class SupervisedRun:
    def __init__(
        self,
        spec: AttemptSpec,
        launch: Launch,
        reaper: Reaper,
        worker_input: WorkerInput,
        output: WorkerOutput,
        log: HostLog,
    ) -> None:
        assert launch.worker is not None
        self._spec = spec
        self._pid = launch.worker.pid
        self._started = launch.started_boottime
        self._groups = launch.groups
        self._reaper = reaper
        self._input = worker_input
        self._output = output
        self._log = log
        self._next_poll = 0.0
        self._is_paused = False
        self.processes = RunProcesses(launch.groups)
        self.plan = StopPlan()
        self.was_killed = False
        self.memory = MemoryMeter(launch.groups, spec.memory_mb)
        self.oom_kills = 0
        # The machine's count at each of the last polls: what is old has not ended this run.
        self._machine_oom_kills = deque([launch.machine_oom_kills], maxlen=OOM_POLLS)

    # -- what the control socket offers ---------------------------------------------------------

    def stop(self, reason: str, grace_s: float | None = None) -> dict[str, Any]:
        if self._reaper.leader_is_over:
            return {"stopping": True, "grace_s": 0.0}
        grace_s = self._spec.grace_s if grace_s is None else grace_s
        now = time.monotonic()
        if self.plan.request(reason, grace_s, now):
            self._log.info("stop.requested", reason=reason, grace_s=grace_s)
            self._pass_on_stop(reason, grace_s)
        return {"stopping": True, "grace_s": max(0.0, self.plan.deadline - now)}

    def pause(self) -> None:
        self._refuse_when_ending()
        if self._spec.control == "stdin":
            self._input.send({"command": "pause"})
        else:
            self.processes.signal_all(signal.SIGSTOP)
        self._is_paused = True

    def unpause(self) -> None:
        self._refuse_when_ending()
        if self._spec.control == "stdin":
            self._input.send({"command": "resume"})
        else:
            self.processes.signal_all(signal.SIGCONT)
        self._is_paused = False

    def send(self, line: dict[str, Any]) -> None:
        self._refuse_when_ending()
        self._input.send(line)

    def status(self) -> dict[str, Any]:
        """`state` is the kernel's letter for the worker ("T" is stopped), empty when it is gone."""
        usage = self._usage()
        leader = None if self._reaper.leader_is_over else read_process(self._pid)
        return {
            "pid": self._pid,
            "state": leader.state if leader else "",
            "uptime_s": round(boottime() - self._started, 3),
            "memory_mb": round(usage.memory_mb, 1),
            "processes": usage.processes,
            "paused": self._is_paused,
            "stopping": self.plan.is_stopping or leader is None,
            "waiting_for_disk": self._output.is_held_up,
        }

    # -- what the loop calls --------------------------------------------------------------------

    def enforce(self) -> float:
        """Hold the run to its limits; returns how long until this is needed again."""
        spec, now = self._spec, time.monotonic()
        delays = [self._poll_usage(now)]
        if spec.max_duration_s is not None:
            remaining = self._started + spec.max_duration_s - boottime()
            if remaining <= 0:
                self.stop("time_limit")
            else:
                delays.append(remaining)
        if spec.max_steps is not None and self._output.steps >= spec.max_steps:
            self.stop("max_steps")
        if self.plan.is_due(now):
            self._kill()
            delays.append(KILL_AGAIN_S)
        elif self.plan.is_stopping:
            delays.append(self.plan.deadline - now)
        return min(delays)

    def kill(self, reason: str) -> None:
        """End it now, for a reason that leaves no room for a grace period."""
        self._log.warning("run.killed", reason=reason)
        self.plan.request(reason, 0.0, time.monotonic())
        self._kill()

    @property
    def swept_processes(self) -> int:
        """How many had to be killed, not counting the worker itself."""
        return len(self.processes.killed_pids - {self._pid})

    def blame_kernel(self) -> None:
        """When the kernel enforced a limit before we noticed, say so in the record."""
        self.oom_kills = self._groups.memory_kills()
        if not self.plan.is_stopping and self.oom_kills and self._groups.reached_memory_limit():
            self.plan.reason = "memory_limit"
            self.was_killed = True

    @property
    def recent_oom_kills(self) -> int | None:
        """How many processes of the machine the kernel has just killed for lack of memory."""
        before, now = self._machine_oom_kills[0], machine_oom_kills()
        return None if before is None or now is None else max(0, now - before)

    def _poll_usage(self, now: float) -> float:
        if now < self._next_poll:
            return self._next_poll - now
        usage = self._usage()
        self._machine_oom_kills.append(machine_oom_kills())
        reason = exceeded_limit(usage, self._spec.memory_mb, self._spec.max_processes)
        if not reason and self._groups.refused_forks():
            reason = "process_limit"
        if reason and not self.was_killed:
            self.kill(reason)
        interval = max(POLL_S, (time.monotonic() - now) / MOST_POLLING)
        self._next_poll = now + interval
        return interval

    def _usage(self) -> Usage:
        pids = self.processes.pids()
        # A fork bomb grows faster than the memory of its processes can be measured.
        is_bomb = len(pids) > self._spec.max_processes
        return Usage(len(pids), self.memory.peak_mb if is_bomb else self.memory.used_mb(pids))

    def _kill(self) -> None:
        self.was_killed = True
        self.processes.kill_all()

    def _pass_on_stop(self, reason: str, grace_s: float) -> None:
        """CONT follows TERM so that a stopped process wakes up to it."""
        self._is_paused = False
        if self._spec.control == "signals":
            self.processes.signal_all(signal.SIGTERM, signal.SIGCONT)
            return
        try:
            self._input.send({"command": "stop", "reason": reason, "grace_s": grace_s})
        except CommandError as error:
            self._log.warning("stop_line.refused", error=str(error))
        # The leader only: its environment processes must live while it saves a checkpoint.
        self.processes.signal_leader(self._pid, signal.SIGTERM, signal.SIGCONT)

    def _refuse_when_ending(self) -> None:
        if self.plan.is_stopping or self._reaper.leader_is_over:
            raise CommandError("the run is stopping")
