"""Both output pipes of the worker: into the logs, the journal and the memory of the last lines."""

from __future__ import annotations

import os
import selectors
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic.contracts.run_files import AttemptSpec, RunFiles
from mosaic.runhost.logs import RotatingLog
from mosaic.runhost.output_lines import LastLines
from mosaic.runhost.redactor import Redactor
from mosaic.runhost.spawning import SpawnedWorker

if TYPE_CHECKING:
    from mosaic.runhost.event_journal import EventJournal


CHUNK_BYTES = 131_072


class OutputStream:
    """One output pipe: read without blocking, redacted, logged and passed on."""

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


MOST_READS_AT_END = 64


class WorkerOutput:
    def __init__(
        self,
        spec: AttemptSpec,
        worker: SpawnedWorker,
        secrets: tuple[bytes, ...],
        selector: selectors.BaseSelector,
    ) -> None:
        files = RunFiles(Path(spec.run_directory))
        self._selector = selector
        self._watched: set[OutputStream] = set()
        self._last_lines = LastLines()
        self._journal = _open_journal(files.journal) if spec.stdout_events else None
        self._logs = [
            RotatingLog(files.log(spec.worker_name, name), spec.log_max_bytes, spec.log_backups)
            for name in ("stdout", "stderr")
        ]
        stdout_log, stderr_log = self._logs
        keep_events = self._journal.feed if self._journal else _ignore
        self._stdout = OutputStream(worker.stdout, Redactor(secrets), stdout_log, keep_events)
        self._stderr = OutputStream(
            worker.stderr, Redactor(secrets), stderr_log, self._last_lines.feed
        )
        for stream in (self._stdout, self._stderr):
            self._watch(stream)

    @property
    def steps(self) -> int:
        """Step events relayed to the journal."""
        return self._journal.steps if self._journal else 0

    @property
    def oversized_lines(self) -> int:
        return self._journal.oversized if self._journal else 0

    @property
    def lost_log_bytes(self) -> int:
        return sum(log.lost_bytes for log in self._logs)

    @property
    def is_held_up(self) -> bool:
        """The journal waits for room on the disk, and the worker's stdout waits with it."""
        return self._journal is not None and self._journal.is_waiting

    def last_lines(self, count: int) -> tuple[str, ...]:
        return self._last_lines.lines(count)

    def retry(self) -> None:
        """Try again to write held events; reading continues once they are on the disk."""
        if self._journal is not None and self._journal.is_waiting and self._journal.write():
            self._watch(self._stdout)

    def drain(self) -> bool:
        """Read what is left when every writer is gone; false while the journal waits for room."""
        if self._journal is not None and not self._journal.write():
            return False
        for stream in (self._stderr, self._stdout):
            self._read_rest(stream)
        if self.is_held_up:
            return False
        for stream in (self._stderr, self._stdout):
            self._unwatch(stream)
            stream.close()
        if self._journal is not None:
            self._journal.finish()
        return not self.is_held_up

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    def _read_rest(self, stream: OutputStream) -> None:
        # More than any pipe holds; a bound, in case a process we may not kill goes on writing.
        for _ in range(MOST_READS_AT_END):
            if not stream.is_open or self.is_held_up or not stream.read_once():
                return

    def _read(self, stream: OutputStream) -> None:
        stream.read_once()
        if not stream.is_open or (stream is self._stdout and self.is_held_up):
            self._unwatch(stream)

    def _watch(self, stream: OutputStream) -> None:
        if stream.is_open and stream not in self._watched:
            self._watched.add(stream)
            self._selector.register(stream.fd, selectors.EVENT_READ, lambda: self._read(stream))

    def _unwatch(self, stream: OutputStream) -> None:
        # Remembered apart from the selector: a closed descriptor's number is soon used again.
        if stream in self._watched:
            self._watched.remove(stream)
            self._selector.unregister(stream.fd)


def _ignore(_data: bytes) -> None:
    """Where stdout is only log."""


def _open_journal(path: Path) -> EventJournal:
    # Most workers write their own journal; only the others pay for these imports.
    from mosaic.runhost.event_journal import EventJournal

    return EventJournal(path)
