"""The run host's own log: the shape of `mosaic.logs`, without its imports and without failing."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from mosaic.runhost.redactor import redact


class HostLog:
    """Also becomes this process's standard output and error, so that a traceback lands in it."""

    def __init__(self, path: Path, secrets: tuple[bytes, ...]) -> None:
        self._secrets = secrets
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            # The worker is running already, and may have put a link or a FIFO there.
            fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError:
            return  # that, or a full disk: go on with the descriptors we were given
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.close(fd)

    def info(self, event: str, **fields: Any) -> None:
        self._write("INFO", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("WARNING", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write("ERROR", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        now = time.time()
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
            + f".{int(now % 1 * 1000):03d}Z",
            "level": level,
            "component": "mosaic.runhost",
            "event": event,
            **fields,
        }
        # A log that cannot be written is no reason to end a run.
        with contextlib.suppress(OSError):
            os.write(2, redact(json.dumps(entry, default=str) + "\n", self._secrets).encode())
