"""Runs a package tool, or a test import, as a child: its output to a log, cancel at any moment.

A child dies with us, however we die. It holds the lock of the venv that is being built as well: a
grandchild that outlives both keeps others from the folder that it still writes into.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic.runhost.linux import die_with_parent

# How often a child is looked at while it is silent.
TICK_S = 0.1
# For a child to end by itself when it is told to.
_GRACE_S = 3.0
_SOON_S = 0.01
_KEPT_LINES = 400
_LONGEST_LINE = 4000
_PASSWORD = re.compile(r"(://)[^/\s@]+@")


class InstallCanceled(Exception):  # noqa: N818 (somebody wanted it)
    """Nothing of it is left."""


@dataclass(frozen=True)
class ToolResult:
    status: int  # negative: the signal that killed it
    output: tuple[str, ...]  # its last lines


class ToolRunner:
    """For the children of one build, one after the other."""

    def __init__(
        self, log: Path, is_canceled: Callable[[], bool], held_fds: Sequence[int] = ()
    ) -> None:
        self._log = os.open(
            log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        self.is_canceled = is_canceled
        self._held = tuple(held_fds)

    def close(self) -> None:
        os.close(self._log)

    def note(self, line: str) -> None:
        """Into the log; a log that cannot grow is no reason to give up."""
        shown = _PASSWORD.sub(r"\1***@", line[:_LONGEST_LINE])
        with contextlib.suppress(OSError):
            os.write(self._log, (shown + "\n").encode(errors="replace"))

    def check_canceled(self) -> None:
        if self.is_canceled():
            raise InstallCanceled

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        on_line: Callable[[str], None] = lambda line: None,
        on_tick: Callable[[int], None] = lambda written: None,
        limit_s: float | None = None,
    ) -> ToolResult:
        """`on_tick` is told how many bytes the child has written. Raises InstallCanceled, or
        OSError when the program cannot be started."""
        self.check_canceled()
        self.note(f"$ {' '.join(command)}")
        parent = os.getpid()
        process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
            pass_fds=self._held,
            preexec_fn=lambda: die_with_parent(parent),
        )
        lines: deque[str] = deque(maxlen=_KEPT_LINES)
        deadline = None if limit_s is None else time.monotonic() + limit_s

        def take(line: str) -> None:
            lines.append(_PASSWORD.sub(r"\1***@", line[:_LONGEST_LINE]))
            self.note(line)
            on_line(line)

        try:
            self._follow(process, take, on_tick, deadline)
        finally:
            _end(process)
        self.check_canceled()
        return ToolResult(process.returncode, tuple(lines))

    def _follow(
        self,
        process: subprocess.Popen[bytes],
        take: Callable[[str], None],
        on_tick: Callable[[int], None],
        deadline: float | None,
    ) -> None:
        assert process.stdout is not None
        fd = process.stdout.fileno()
        os.set_blocking(fd, False)
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while True:
                self.check_canceled()
                if deadline is not None and time.monotonic() > deadline:
                    take("error: it took too long and was ended")
                    return
                on_tick(_written_by(process.pid))
                has_ended = _has_ended(process)
                if not selector.select(0 if has_ended else TICK_S):
                    if has_ended:  # somebody else may hold the pipe open for ever
                        break
                    continue
                try:
                    data = os.read(fd, 65_536)
                except BlockingIOError:
                    continue
                if not data:
                    break
                *complete, pending = (pending + data).split(b"\n")
                for line in complete:
                    take(line.decode(errors="replace").rstrip("\r"))
        if pending:
            take(pending.decode(errors="replace"))
        # It has closed its output; the end itself may take a moment.
        while not _has_ended(process):
            self.check_canceled()
            time.sleep(_SOON_S)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without taking note of it: until `wait`, no other process can get its number."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """The whole group of it: asked first if it still runs, then killed with all it left."""
    if not _has_ended(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while not _has_ended(process) and time.monotonic() < deadline:
            time.sleep(_SOON_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _written_by(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/io") as file:
            for line in file:
                if line.startswith("wchar: "):
                    return int(line.split()[1])
    except (OSError, ValueError):
        return 0
    return 0
