"""What happens inside the agents as lines of JSON, in a file of bounded size beside the run.

The journal has types for what happens in an environment, not for beliefs and messages: they are in
the `info` of the steps, and all of them here. At most two files of MAX_BYTES each, and at most
LINES_PER_S lines a second, and MESSAGES_PER_S beside them: plans that go on and on do not crowd out
what they are told. What is left out is counted in a line of its own. Where a file begins, and after
lines were left out, a line for each agent says all that it believes and wants: whoever begins to
read there has the truth.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mosaic.contracts.agents import LONGEST_TEXT
from mosaic.files import write_all

FILE_NAME = "agents.jsonl"
OLDER_NAME = "agents.1.jsonl"
MAX_BYTES = 8 * 2**20
LINES_PER_S = 500
MESSAGES_PER_S = 100
_FLUSH_BYTES = 16_384
_FLUSH_S = 0.2

# Of each agent its name, and what its line of the kind "state" says.
States = Iterable[tuple[str, dict[str, Any]]]


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
        # Asked where a file begins and after lines were left out, before the next line is written.
        self.states: Callable[[], States] = tuple
        self._folder = folder
        self._clock = clock
        self._max_bytes = max_bytes
        self._lines_per_s = lines_per_s
        self._lock = threading.Lock()
        self._pending: list[str] = []
        self._pending_bytes = 0
        self._flushed_at = 0.0
        self._second = 0
        self._in_second: Counter[bool] = Counter()  # of messages, and of all else
        self._skipped = 0
        self._size = 0
        self._needs_states = True
        if folder is not None:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._size = self._path.stat().st_size if self._path.exists() else 0
            except OSError:
                self._folder = None
        if self._size:
            self._append("\n")  # an attempt before this one may have been killed within a line

    def write(self, kind: str, agent: str, **fields: Any) -> None:
        """What the line says must not be part of the states yet, and nobody may hold a lock that
        `states` takes.
        """
        if self._folder is None:
            return
        with self._lock:
            moment = self._clock()
            if int(moment) != self._second:
                self._second = int(moment)
                self._in_second.clear()
                self._tell_skipped(moment)
            is_message = kind == "message"
            self._in_second[is_message] += 1
            most = MESSAGES_PER_S if is_message else self._lines_per_s
            if kind != "note" and self._in_second[is_message] > most:
                self._skipped += 1
                return
            self._add(moment, kind, agent, fields)
            self._flush_if_due(moment)

    def flush_if_due(self) -> None:
        """For agents that say nothing more for a while."""
        with self._lock:
            self._flush_if_due(self._clock())

    def close(self) -> None:
        with self._lock:
            moment = self._clock()
            if self._skipped:
                self._tell_skipped(moment)
                self._add_states(moment)
            self._flush(moment)
            self._folder = None

    @property
    def _path(self) -> Path:
        assert self._folder is not None
        return self._folder / FILE_NAME

    def _tell_skipped(self, moment: float) -> None:
        if self._skipped:
            self._append(_line(moment, "skipped", "", {"count": self._skipped}))
            self._skipped = 0
            self._needs_states = True

    def _add(self, moment: float, kind: str, agent: str, fields: dict[str, Any]) -> None:
        line = _line(moment, kind, agent, fields)
        size = self._size + self._pending_bytes
        if size and size + len(line) > self._max_bytes:
            self._begin_file(moment)
        if self._needs_states:
            self._add_states(moment)
        self._append(line)

    def _add_states(self, moment: float) -> None:
        self._needs_states = False
        for agent, fields in self.states():
            self._append(_line(moment, "state", agent, fields))

    def _append(self, line: str) -> None:
        self._pending.append(line)
        self._pending_bytes += len(line)

    def _begin_file(self, moment: float) -> None:
        self._flush(moment)
        if self._folder is None:
            return
        try:
            os.replace(self._path, self._folder / OLDER_NAME)  # noqa: PTH105 (one call, atomic)
        except OSError:
            self._folder = None
        self._size = 0
        self._needs_states = True

    def _flush_if_due(self, moment: float) -> None:
        is_due = not 0 <= moment - self._flushed_at < _FLUSH_S
        if is_due or self._pending_bytes >= _FLUSH_BYTES:
            self._flush(moment)

    def _flush(self, moment: float) -> None:
        if not self._pending or self._folder is None:
            return
        data = "".join(self._pending).encode()
        self._pending.clear()
        self._pending_bytes = 0
        self._flushed_at = moment
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                write_all(fd, data)
            finally:
                os.close(fd)
            self._size += len(data)
        except OSError:
            self._folder = None


def _line(moment: float, kind: str, agent: str, fields: dict[str, Any]) -> str:
    said = {name: _cut(value) for name, value in fields.items()}
    return json.dumps({"timestamp": round(moment, 6), "agent": agent, "kind": kind, **said}) + "\n"


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    return [_cut(item) for item in value] if isinstance(value, (list, tuple)) else value
