"""Commands to the worker as JSON lines on its standard input, never waiting for it to read."""

from __future__ import annotations

import json
import os
import selectors
from typing import Any

from mosaic.runhost.commands import CommandError

MAX_UNREAD_BYTES = 1_048_576


class WorkerInput:
    """`fd` is None for a worker that takes no commands."""

    def __init__(self, fd: int | None, selector: selectors.BaseSelector) -> None:
        self._fd = fd
        self._takes_commands = fd is not None
        self._selector = selector
        self._unsent = bytearray()
        self._is_registered = False
        if fd is not None:
            os.set_blocking(fd, False)

    def send(self, line: dict[str, Any]) -> None:
        if not self._takes_commands:
            raise CommandError("this worker takes no commands")
        if self._fd is None:
            raise CommandError("the worker has closed its standard input")
        data = json.dumps(line).encode() + b"\n"
        if len(self._unsent) + len(data) > MAX_UNREAD_BYTES:
            raise CommandError("the worker does not read its commands; the buffer is full")
        self._unsent += data
        self._write()

    def close(self) -> None:
        if self._fd is not None:
            self._watch(False)
            os.close(self._fd)
            self._fd = None
            self._unsent.clear()

    def _write(self) -> None:
        if self._fd is None:
            return
        try:
            while self._unsent:
                del self._unsent[: os.write(self._fd, self._unsent)]
        except BlockingIOError:
            pass  # the pipe is full; the loop calls again when the worker has read some
        except OSError:
            self.close()
            return
        self._watch(bool(self._unsent))

    def _watch(self, wanted: bool) -> None:
        if wanted and not self._is_registered:
            assert self._fd is not None
            self._selector.register(self._fd, selectors.EVENT_WRITE, self._write)
        elif self._is_registered and not wanted:
            assert self._fd is not None
            self._selector.unregister(self._fd)
        self._is_registered = wanted
