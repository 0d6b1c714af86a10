"""The watched command as a process group: started, signalled, waited for, its last words kept."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic.errors import ConfigError
from mosaic.files import write_all
from mosaic.runhost.last_lines import LastLines

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
