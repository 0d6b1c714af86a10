"""Starts the worker: own session, own environment, dies with the host, output into pipes.

Like `launch`, it does without `dataclasses`, `pathlib` and `typing`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time

from mosaic.runhost.control_groups import ControlGroups
from mosaic.runhost.linux import become_subreaper, die_with_parent, machine_oom_kills

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

# Room for a burst while the host is busy with the disk.
PIPE_BYTES = 262_144
# Blocked until the loop can handle them, so that none is lost or kills us in between.
HANDLED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class StartFailure(Exception):  # noqa: N818 (an outcome of the attempt, not a fault of ours)
    """The worker's program could not be executed; the message says what the system said."""


class SpawnedWorker:
    """The host's ends of the pipes; `stdin` is None when the worker takes no commands."""

    def __init__(self, pid: int, stdin: int | None, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr


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
        # CLOCK_BOOTTIME continues while the machine sleeps and never jumps.
        self.started_boottime = 0.0


def start_worker(spec: dict[str, Any], planned: list[str], lock: int) -> Launch:
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
    except OSError as error:  # the system has no process or pipe to give
        launch.failure = f"The worker could not be started: {error.strerror}"
    launch.started_at = time.time()
    launch.started_boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
    return launch


def spawn_worker(
    argv: list[str],
    cwd: str,
    environment: Mapping[str, str],
    takes_commands: bool,
    settle: Callable[[], None],
) -> SpawnedWorker:
    """Call from the main thread only: the worker is killed when the forking thread ends.

    `settle` is the first thing called in the new process.
    """
    stdin_write: int | None = None
    if takes_commands:
        stdin_read, stdin_write = os.pipe()
    else:
        stdin_read = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    stdout_read, stdout_write = _wide_pipe()
    stderr_read, stderr_write = _wide_pipe()
    report_read, report_write = os.pipe()
    host = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become_worker(
            host, argv, cwd, environment, (stdin_read, stdout_write, stderr_write), report_write,
            settle,
        )  # fmt: skip
    for fd in (stdin_read, stdout_write, stderr_write, report_write):
        os.close(fd)
    # End of file comes when exec closes the other end; text comes when something failed.
    report = b"".join(iter(lambda: os.read(report_read, 4096), b""))
    os.close(report_read)
    if report:
        os.waitpid(pid, 0)
        for end in (stdin_write, stdout_read, stderr_read):
            if end is not None:
                os.close(end)
        raise StartFailure(report.decode(errors="replace"))
    return SpawnedWorker(pid, stdin_write, stdout_read, stderr_read)


def _wide_pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    try:  # noqa: SIM105 (contextlib would delay the worker's start)
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # beyond this user's share of pipe memory: the default size works as well
    return read_end, write_end


def _become_worker(
    host: int,
    argv: list[str],
    cwd: str,
    environment: Mapping[str, str],
    standard: tuple[int, int, int],
    report: int,
    settle: Callable[[], None],
) -> NoReturn:
    failed = f"the working directory {cwd}"
    try:
        settle()
        die_with_parent(host)
        os.setsid()
        os.chdir(cwd)
        failed = argv[0]
        for target, fd in enumerate(standard):
            os.dup2(fd, target)
        _default_signals()
        os.execvpe(argv[0], argv, environment)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(report, f"The worker could not be started: {failed}: {reason}".encode())
    finally:
        os._exit(127)


def _default_signals() -> None:
    """Ignored signals and the signal mask survive exec; a worker must start with neither."""
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _forbid_core_dumps() -> None:
    """A worker's core file would hold its secrets."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
