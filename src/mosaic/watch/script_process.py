"""The watched command as a process group: started, signalled, waited for; what its end means."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic.errors import ConfigError, ProgramError
from mosaic.files import write_all
from mosaic.runhost.output_lines import LastLines

_STDERR = 2
_CHUNK = 65_536
# How long a descendant that escaped the group may keep standard error open after the end.
_OUTPUT_PATIENCE_S = 1.0


class ScriptProcess:
    """Its group is its own, so that a signal reaches all of it and nothing else.

    Standard output is inherited: the run host logs it. Standard error passes through here, so
    that the last lines can say why the command failed.
    """

    def __init__(
        self,
        argv: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        stdout: int | None = None,
    ) -> None:
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
                process_group=0,
            )
        except OSError as error:
            raise ConfigError(
                f"Invalid ScriptConfig: 'command': {argv[0]} cannot be started: {error.strerror}",
                hint="a script needs a first line such as #!/bin/sh, or a program before its name",
                field="command",
            ) from error
        self._pidfd = os.pidfd_open(self._process.pid)
        self._last = LastLines()
        self._pump = threading.Thread(target=self._pass_on, name="stderr", daemon=True)
        self._pump.start()

    def is_over(self, timeout_s: float) -> bool:
        """Waits for the end of the command, but not longer than that."""
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))

    def signal(self, *numbers: signal.Signals) -> None:
        """As a terminal does for Ctrl-C: to every process of the group."""
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    def end(self) -> int:
        """Whoever is left of the group is killed; returns the exit code, negative for a signal."""
        if not self.is_over(0):
            self.signal(signal.SIGKILL)
        # Before the leader is reaped: until then nobody else can have got the group's number.
        self.is_over(_OUTPUT_PATIENCE_S * 10)
        self.signal(signal.SIGKILL)
        status = self._process.wait()
        os.close(self._pidfd)
        self._pump.join(_OUTPUT_PATIENCE_S)
        if not self._pump.is_alive() and self._process.stderr is not None:
            self._process.stderr.close()
        return status

    def last_lines(self, count: int) -> tuple[str, ...]:
        """Of its standard error."""
        return self._last.lines(count)

    def _pass_on(self) -> None:
        assert self._process.stderr is not None
        fd = self._process.stderr.fileno()
        while chunk := os.read(fd, _CHUNK):
            self._last.feed(chunk)
            with contextlib.suppress(OSError):  # nobody listens any more: the script goes on
                write_all(_STDERR, chunk)


# -- Which signal it gets when, once it has to stop

DEFAULT_GRACE_S = 10.0
# Shares of the time until the run host kills everything. Ctrl-C comes first: it is what scripts
# know, and many save on it. The rest of the time is ours, to report the end.
_RUNGS = ((0.0, signal.SIGINT), (0.5, signal.SIGTERM), (0.75, signal.SIGKILL))


class StopLadder:
    """Each signal is due once, in order."""

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._taken = 0

    def due(self, now: float, grace_s: float | None) -> list[signal.Signals]:
        """`grace_s` may become known only after the first look."""
        grace_s = DEFAULT_GRACE_S if grace_s is None else grace_s
        share = (now - self._started_at) / grace_s if grace_s > 0 else 1.0
        signals = [number for at, number in _RUNGS[self._taken :] if share >= at]
        self._taken += len(signals)
        return signals


# -- What its end means for the run

_SHOWN_COMMAND = 200
_SHOWN_LINES = 3


def failure_of(
    status: int, command: Sequence[str], last_lines: Sequence[str]
) -> ProgramError | None:
    """`status` as subprocess has it: negative for a signal. None when all is well."""
    if status == 0:
        return None
    shown = shlex.join(command)
    if len(shown) > _SHOWN_COMMAND:
        shown = f"{shown[:_SHOWN_COMMAND]}…"
    message = f"{shown} {how_it_ended(status)}"
    words = last_words(last_lines)
    hint = "`mosaic logs RUN --stderr` has all it said"
    if status == -signal.SIGKILL:
        hint = "often the system ran out of memory; see `dmesg`, or give it a --memory-mb limit"
    return ProgramError(
        f"{message}: {words}" if words else message,
        hint=hint,
        exit_code=status if status > 0 else 128 - status,
        output="\n".join(last_lines),
    )


def how_it_ended(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}"


def last_words(lines: Sequence[str]) -> str:
    """The last lines of standard error on one; of a Python traceback only the error itself."""
    speaking = [
        line.strip()
        for line in lines
        if line.strip() and not line[0].isspace() and not line.startswith("Traceback (most")
    ]
    if any(line.startswith("Traceback (most") for line in lines):
        speaking = speaking[-1:]
    return " | ".join(speaking[-_SHOWN_LINES:])
