"""One output pipe of the worker: read without blocking, redacted, logged and passed on."""

from __future__ import annotations

import os
from collections.abc import Callable

from mosaic.runhost.redactor import Redactor
from mosaic.runhost.rotating_log import RotatingLog

CHUNK_BYTES = 131_072


class OutputStream:
    def __init__(
        self, fd: int, redactor: Redactor, log: RotatingLog, sink: Callable[[bytes], None]
    ) -> None:
        self.fd = fd
        self._redactor = redactor
        self._log = log
        self._sink = sink
        self.is_open = True

    def read_once(self) -> bool:
        """Pass on one chunk; false when there is nothing to read now or ever again."""
        try:
            chunk = os.read(self.fd, CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return False
        self._pass_on(self._redactor.feed(chunk))
        return True

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            os.close(self.fd)
            self._pass_on(self._redactor.flush())
            self._log.close()

    def _pass_on(self, data: bytes) -> None:
        if data:
            self._log.write(data)
            self._sink(data)
