"""The event journal: bodies of events in, whole numbered JSON lines out, at most 50 ms later.

A caller only appends a string to a list. A thread numbers the lines, writes them, and keeps what
the system would not take: no error of the disk reaches the training, which at most has to wait.
"""

from __future__ import annotations

import atexit
import errno
import json
import mmap
import os
import threading
import time
import weakref
from pathlib import Path

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.errors import StoreError
from mosaic.logs import get_logger

FLUSH_INTERVAL_S = 0.04
MAX_PENDING_BYTES = 64 * 1024 * 1024
CLOSE_TIMEOUT_S = 30.0
_STDOUT = 1
# What each line gets around its body: {"seq":18446744073709551615,…}\n
_WRAPPING_BYTES = 32
MAX_BODY_BYTES = MAX_LINE_BYTES - _WRAPPING_BYTES

log = get_logger(__name__)


class Journal:
    """Appends to a file, or prints on stdout when there is none. Safe to use from any thread.

    `append` takes the inside of a JSON object in ASCII, such as `"type":"metric","step":1`.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.dropped = 0  # events nobody can receive any more: the reader of stdout has gone
        self._buffer: list[str] = []
        self._unwritten = bytearray()  # whole lines, but for the rest of a line cut by the system
        self._pending_bytes = 0
        self._next_seq = 0
        self._is_open = True
        self._is_failing = False
        self._writing = threading.Lock()
        self._stopping = threading.Event()
        self._fd = _STDOUT
        if path is not None:
            self._fd = _open_for_append(path)
            self._next_seq, is_torn = read_position(path)
            if is_torn:
                self._unwritten += b"\n"
        self._thread = threading.Thread(target=self._keep_flushing, name="journal", daemon=True)
        self._thread.start()
        atexit.register(self.close)
        _open_journals.add(self)

    def append(self, body: str) -> None:
        # Appending to a list is atomic, and the flusher removes exactly what it has copied;
        # a sum that lost an addition to another thread is put right at the next flush.
        self._buffer.append(body)
        self._pending_bytes += len(body)
        if self._pending_bytes > MAX_PENDING_BYTES:
            self._wait_for_room()

    def flush(self) -> bool:
        """Write what there is, now; False when the system did not take all of it."""
        with self._writing:
            self._number_lines()
            return self._write()

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> bool:
        """Write the rest and stop; False when the system would not take it in time."""
        if not self._is_open:
            return True
        atexit.unregister(self.close)
        self._stopping.set()
        deadline = time.monotonic() + timeout_s
        self._thread.join(timeout_s)
        # Still alive: it hangs in a write that a stopped reader of our stdout blocks.
        is_written = not self._thread.is_alive() and self.flush()
        while not is_written and not self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(FLUSH_INTERVAL_S)
            is_written = self.flush()
        self._is_open = False
        if not is_written:
            log.error("journal.abandoned", path=str(self.path), bytes=self._pending_bytes)
        if self.path is not None and not self._thread.is_alive():
            os.close(self._fd)
        return is_written

    def forget(self) -> None:
        """In a forked child: everything buffered is the parent's to write, and so is the rest."""
        self._buffer.clear()
        self._unwritten.clear()
        self._pending_bytes = 0
        self._is_open = False

    def _keep_flushing(self) -> None:
        while not self._stopping.wait(FLUSH_INTERVAL_S):
            if self._buffer or self._unwritten:
                self.flush()

    def _wait_for_room(self) -> None:
        while self._is_open and self._pending_bytes > MAX_PENDING_BYTES:
            time.sleep(0.005)
        if not self._is_open:
            self.forget()

    def _number_lines(self) -> None:
        count = len(self._buffer)
        if count:
            bodies = self._buffer[:count]
            lines = [f'{{"seq":{seq},{body}}}\n' for seq, body in enumerate(bodies, self._next_seq)]
            self._unwritten += "".join(lines).encode("ascii")
            self._next_seq += count
            del self._buffer[:count]
        self._pending_bytes = len(self._unwritten)

    def _write(self) -> bool:
        """One attempt. What remains after a short write is written before anything else."""
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._fd, self._unwritten)]
        except OSError as error:
            self._on_write_error(error)
        if not self._unwritten and self._is_failing:
            self._is_failing = False
            log.warning("journal.recovered", path=str(self.path))
        self._pending_bytes = len(self._unwritten)
        return not self._unwritten

    def _on_write_error(self, error: OSError) -> None:
        if self.path is None:
            if error.errno != errno.EAGAIN:
                self.dropped += self._unwritten.count(b"\n")
                self._unwritten.clear()
            return
        if error.errno == errno.EBADF:  # some library closed every descriptor it did not know
            self._fd = _open_for_append(self.path)
        if not self._is_failing:
            self._is_failing = True
            log.error("journal.write_failed", path=str(self.path), error=error.strerror)


def read_position(path: Path) -> tuple[int, bool]:
    """The sequence number that comes next, and whether the last line lacks its end."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return 0, False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            end = len(content)
            is_torn = content[end - 1] != ord("\n")
            while end > 0:
                start = content.rfind(b"\n", 0, end) + 1
                seq = _seq_of(content[start:end]) if end - start <= MAX_LINE_BYTES else None
                if seq is not None:
                    return seq + 1, is_torn
                end = start - 1
            return 0, is_torn


def _seq_of(line: bytes) -> int | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    seq = event.get("seq") if isinstance(event, dict) else None
    return seq if isinstance(seq, int) else None


def _open_for_append(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"The journal {path} cannot be opened: {error.strerror}",
            hint="the folder of the run must exist and be writable",
        ) from error


_open_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


def _forget_in_child() -> None:
    for journal in list(_open_journals):
        journal.forget()


os.register_at_fork(after_in_child=_forget_in_child)
