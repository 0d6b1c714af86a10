"""What happens inside the agents as lines of JSON, in a file of bounded size beside the run.

The journal has types for what happens in an environment, not for beliefs and messages: they are in
the `info` of the steps, and all of them here. At most two files of MAX_BYTES each, and at most
LINES_PER_S lines a second; what is left out is counted in a line of its own.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE_NAME = "agents.jsonl"
OLDER_NAME = "agents.1.jsonl"
MAX_BYTES = 8 * 2**20
LINES_PER_S = 500
_FLUSH_BYTES = 16_384
_FLUSH_S = 0.2


class TraceFile:
    """For any thread. Without a folder nothing is written; a disk that refuses ends it quietly."""

    def __init__(
        self,
        folder: Path | None,
        *,
        clock: Callable[[], float] = time.time,
        max_bytes: int = MAX_BYTES,
        lines_per_s: int = LINES_PER_S,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._max_bytes = max_bytes
        self._lines_per_s = lines_per_s
        self._lock = threading.Lock()
        self._pending: list[str] = []
        self._pending_bytes = 0
        self._flushed_at = 0.0
        self._second = 0
        self._in_second = 0
        self._skipped = 0
        self._size = 0
        if folder is not None:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._size = self._path.stat().st_size if self._path.exists() else 0
            except OSError:
                self._folder = None

    def write(self, kind: str, agent: str, **fields: Any) -> None:
        if self._folder is None:
            return
        moment = self._clock()
        with self._lock:
            if int(moment) != self._second:
                self._second, self._in_second = int(moment), 0
                if self._skipped:
                    self._add(moment, "skipped", agent, {"count": self._skipped})
                    self._skipped = 0
            self._in_second += 1
            if self._in_second > self._lines_per_s and kind != "note":
                self._skipped += 1
                return
            self._add(moment, kind, agent, fields)
            is_due = moment - self._flushed_at >= _FLUSH_S
            if is_due or self._pending_bytes >= _FLUSH_BYTES:
                self._flush(moment)

    def flush(self) -> None:
        with self._lock:
            self._flush(self._clock())

    def close(self) -> None:
        with self._lock:
            if self._skipped:
                self._add(self._clock(), "skipped", "", {"count": self._skipped})
                self._skipped = 0
            self._flush(self._clock())
            self._folder = None

    @property
    def _path(self) -> Path:
        assert self._folder is not None
        return self._folder / FILE_NAME

    def _add(self, moment: float, kind: str, agent: str, fields: dict[str, Any]) -> None:
        line = json.dumps({"timestamp": round(moment, 6), "agent": agent, "kind": kind, **fields})
        self._pending.append(line + "\n")
        self._pending_bytes += len(line) + 1

    def _flush(self, moment: float) -> None:
        if not self._pending or self._folder is None:
            return
        data = "".join(self._pending).encode()
        self._pending.clear()
        self._pending_bytes = 0
        self._flushed_at = moment
        try:
            if self._size + len(data) > self._max_bytes and self._size:
                os.replace(self._path, self._folder / OLDER_NAME)  # noqa: PTH105 (one call, atomic)
                self._size = 0
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self._size += os.write(fd, data)
            finally:
                os.close(fd)
        except OSError:
            self._folder = None
