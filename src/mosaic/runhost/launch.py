"""From a specification on standard input to a running worker, with as few imports as possible."""

from __future__ import annotations

import os
import signal
import sys
import time

from mosaic.runhost.attempt_claim import attempt_directory, make_claim, take_lock
from mosaic.runhost.control_groups import ControlGroups, group_name, planned_groups
from mosaic.runhost.linux import become_subreaper
from mosaic.runhost.machine_memory import machine_oom_kills
from mosaic.runhost.spawning import SpawnedWorker, StartFailure, spawn_worker
from mosaic.runhost.spec_input import SpecError, parse_spec, read_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXIT_NOTHING_STARTED = 2
EXIT_NOT_OURS = 3
# Held back until the loop can treat them, so that none is lost or kills us in between.
HANDLED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Launch:
    """What the launch leaves to the supervising loop; exactly one of worker and failure is set."""

    def __init__(self, spec: dict[str, Any], groups: ControlGroups) -> None:
        self.spec = spec
        self.groups = groups
        self.worker: SpawnedWorker | None = None
        self.failure = ""
        # Before the worker exists: it can be killed for its memory before anybody looks at it.
        self.machine_oom_kills = machine_oom_kills()
        self.started_at = 0.0
        # CLOCK_BOOTTIME goes on while the machine sleeps and never jumps.
        self.started_boottime = 0.0


def main() -> int:
    _keep_standard_descriptors()
    try:
        spec = parse_spec(read_all(0))
    except SpecError as error:
        print(f"run host: nothing was started: {error}", file=sys.stderr)
        return EXIT_NOTHING_STARTED
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED_SIGNALS)
    groups = planned_groups(group_name(spec["run_id"], spec["attempt"]))
    try:
        directory = attempt_directory(spec["run_directory"], spec["attempt"])
        lock = take_lock(directory)
        if lock is None or not make_claim(directory, groups):
            return EXIT_NOT_OURS
    except OSError as error:
        print(f"run host: nothing was started: {error}", file=sys.stderr)
        return EXIT_NOTHING_STARTED
    launch = _start_worker(spec, groups, lock)
    # Only now: these imports take longer than everything above.
    from mosaic.runhost.host import supervise

    return supervise(launch)


def _keep_standard_descriptors() -> None:
    """Were one of 0, 1, 2 closed, the next file opened would take its place."""
    for fd in (1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(os.open("/dev/null", os.O_RDWR), fd)


def _start_worker(spec: dict[str, Any], planned: list[str], lock: int) -> Launch:
    become_subreaper()
    _forbid_core_dumps()
    groups = ControlGroups.create(planned, spec.get("max_processes", 4096), spec.get("memory_mb"))
    launch = Launch(spec, groups)

    def settle() -> None:
        os.close(lock)  # were this host killed right now, its lock must not live on in the worker
        groups.join()

    environment = {**spec["environment"], **spec.get("secrets", {})}
    takes_commands = spec.get("control", "stdin") == "stdin"
    try:
        launch.worker = spawn_worker(spec["argv"], spec["cwd"], environment, takes_commands, settle)
        groups.keep_joined(launch.worker.pid)
    except StartFailure as failure:
        launch.failure = str(failure)
    except OSError as error:  # no process or no pipe to be had
        launch.failure = f"The worker could not be started: {error.strerror}"
    launch.started_at = time.time()
    launch.started_boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
    return launch


def _forbid_core_dumps() -> None:
    """A worker's core file would hold its secrets."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
