"""A program of ours that runs beside the worker: JSON lines in and out, nothing left at its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MAX_LINE_BYTES = 1_048_576
_MAX_UNSENT = 100
_SOURCE = Path(__file__).resolve().parents[2]
KILL_AFTER_S = 3.0


class Child:
    """Belongs to the event loop it was started in."""

    def __init__(
        self,
        module: str,
        arguments: list[str],
        log_file: Path,
        on_line: Callable[[dict[str, Any]], None],
        on_end: Callable[[], None],
    ) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._is_stopping = False
        self.log_file = log_file
        command = [sys.executable, "-P", "-m", f"{__package__}.{module}", *arguments]
        with log_file.open("ab") as log:
            # A group of its own: Ctrl-C in a terminal is for the worker, which ends its children.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(),
                process_group=0,
            )
        self.pid = self._process.pid
        self.ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._unsent: list[bytes] = []
        self._stdin: asyncio.WriteTransport | None = None
        self._opening = self._loop.create_task(self._open_stdin())
        self._pidfd = os.pidfd_open(self.pid)
        self._loop.add_reader(self._pidfd, self._note_end)
        self._reading = self._loop.create_task(self._read())

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def write(self, line: dict[str, Any]) -> bool:
        """Whether there is room; a child that does not read does not hold us up."""
        data = json.dumps(line).encode() + b"\n"
        if self._stdin is None:
            self._unsent.append(data)
            return len(self._unsent) < _MAX_UNSENT
        if self._stdin.is_closing() or self._stdin.get_write_buffer_size() > _MAX_LINE_BYTES:
            return False
        self._stdin.write(data)
        return True

    async def stop(self) -> None:
        """Close its stdin, which ends it; kill it if that does not. Bounded, and leaves nothing."""
        self._is_stopping = True
        await self._opening
        if self._stdin is not None:
            self._stdin.close()
        try:
            await asyncio.wait_for(self.ended.wait(), KILL_AFTER_S)
        except TimeoutError:
            self._process.kill()
            await self.ended.wait()
        await self._reading

    def kill(self) -> None:
        """At once, without waiting."""
        self._process.kill()

    def last_words(self) -> str:
        """The end of what it wrote on stderr."""
        with contextlib.suppress(OSError):
            lines = self.log_file.read_bytes()[-2000:].decode(errors="replace").splitlines()
            return lines[-1] if lines else ""
        return ""

    async def _open_stdin(self) -> None:
        with contextlib.suppress(OSError):  # it has ended already
            self._stdin, _ = await self._loop.connect_write_pipe(
                asyncio.BaseProtocol, self._process.stdin
            )
            self._stdin.writelines(self._unsent)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        reader = asyncio.StreamReader(limit=_MAX_LINE_BYTES)
        transport, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout
        )
        try:
            while line := await reader.readline():
                message = _object(line)
                if message is not None:
                    self._on_line(message)
        except ValueError:  # a line that is too long: it is no program of ours any more
            self._process.kill()
        finally:
            transport.close()

    def _note_end(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._process.wait()
        self.ended.set()
        if self._stdin is not None:
            self._stdin.close()
        if not self._is_stopping:
            self._on_end()


def _environment() -> dict[str, str]:
    """Ours, with the place these programs are imported from."""
    paths = [str(_SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
