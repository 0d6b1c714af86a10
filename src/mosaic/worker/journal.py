"""The event journal: events in, whole numbered JSON lines out, at most 50 ms later.

A caller only appends to a list. A thread encodes and numbers the lines, writes them, and keeps what
the system would not take: no error of the disk reaches the training, which at most has to wait for
room.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import json
import mmap
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.contracts.secret_text import secret_spellings
from mosaic.contracts.secrets import is_secret_name
from mosaic.contracts.worker_environment import SECRET_NAMES
from mosaic.errors import StoreError
from mosaic.files import sync_directory
from mosaic.logs import MASK, get_logger

# Written by the SDK itself; without them an event belongs to no run.
_OWN_FIELDS = frozenset({"type", "run_id", "agent_id", "worker_id"})


class SecretMask:
    """Keeps the values of secrets out of the journal, whatever a worker puts into its events.

    The run host masks what a worker prints, but the journal is the worker's own file. Which
    variables are secret is told by the daemon, and by their names when the worker runs alone.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        told = environ.get(SECRET_NAMES, "").split(",")
        spellings: set[str] = set()
        for name, value in environ.items():
            if name in told or is_secret_name(name):
                spellings |= secret_spellings(value)
        # The longest first, so that no rest of one remains behind the mask of a shorter one.
        self._values = sorted(spellings, key=len, reverse=True)
        self._encoded = tuple({json.dumps(value)[1:-1] for value in spellings})

    def apply(self, lines: str) -> str:
        """Journal lines, each with its newline, without any secret in them."""
        if not self._is_in(lines):
            return lines
        return "".join(
            self._masked(line) if self._is_in(line) else line
            for line in lines.splitlines(keepends=True)
        )

    def _is_in(self, text: str) -> bool:
        return any(encoded in text for encoded in self._encoded)

    def _masked(self, line: str) -> str:
        # In the texts only: a secret made of digits must not tear a number apart.
        event = {
            key: value if key in _OWN_FIELDS else self._masked_value(value)
            for key, value in json.loads(line).items()
        }
        return json.dumps(event, separators=(",", ":")) + "\n"

    def _masked_value(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._values:
                value = value.replace(secret, MASK)
            return value
        if isinstance(value, dict):
            return {
                self._masked_value(key): self._masked_value(item) for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._masked_value(item) for item in value]
        return value


FLUSH_INTERVAL_S = 0.03
MAX_PENDING_BYTES = 64 * 1024 * 1024
MAX_BUFFERED_EVENTS = 32_768
CLOSE_TIMEOUT_S = 30.0
_STDOUT = 1
# What each line gets around its body: {"seq":18446744073709551615,…}\n
_WRAPPING_BYTES = 32
MAX_BODY_BYTES = MAX_LINE_BYTES - _WRAPPING_BYTES
_LARGE_FIELD_BYTES = 4096

# Its first item is the number of the formatter that makes the body of a line from it. A number,
# since a tuple of plain values is nothing the garbage collector has to look after.
DeferredEvent = tuple[Any, ...]
Formatter = Callable[[DeferredEvent], str]

log = get_logger(__name__)


class Journal:
    """Appends to a file, or prints on stdout when there is none. Safe to use from any thread."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.dropped = 0  # events nobody can receive any more: the reader of stdout has gone
        self._buffer: list[DeferredEvent | str] = []
        self._formatters: list[Formatter] = []
        self._unwritten = bytearray()  # whole lines, but for the rest of a line cut by the system
        self._pending_bytes = 0
        self._next_seq = 0
        self._is_open = True
        self._is_failing = False
        self._writing = threading.Lock()
        self._stopping = threading.Event()
        self._mask = SecretMask(os.environ)
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

    def add_formatter(self, formatter: Formatter) -> int:
        """The number by which deferred events ask for this formatter."""
        self._formatters.append(formatter)
        return len(self._formatters) - 1

    def append(self, body: str) -> None:
        """Take the inside of a JSON object in ASCII, such as `"type":"metric","step":1`."""
        if len(body) > MAX_BODY_BYTES:
            body = shortened(body)
        # A sum that lost an addition to another thread is put right at the next flush.
        self._pending_bytes += len(body)
        self.defer(body)

    def defer(self, event: DeferredEvent | str) -> None:
        """Take something small and unchanging; its formatter makes the body of it later."""
        # Appending to a list is atomic, and the flusher removes exactly what it has copied.
        self._buffer.append(event)
        if len(self._buffer) > MAX_BUFFERED_EVENTS or self._pending_bytes > MAX_PENDING_BYTES:
            self._wait_for_room()

    def flush(self) -> bool:
        """Write what there is, now; False when the system did not take all of it."""
        with self._writing:
            if not self._is_open:
                return True
            self._encode_lines()
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
            self._sync(self.path)
            os.close(self._fd)
        return is_written

    def _sync(self, path: Path) -> None:
        """Once, at the end: what a finished run reported survives a power cut."""
        try:
            os.fsync(self._fd)
            sync_directory(path.parent)
        except OSError as error:  # the lines are with the system, and nobody could do more
            log.warning("journal.unsynced", path=str(path), error=error.strerror)

    def forget(self) -> None:
        """In a forked child: everything buffered is the parent's to write, and so is the rest."""
        self._is_open = False
        self._buffer.clear()
        # New ones: the parent's thread may have been inside either at the moment of the fork.
        self._unwritten = bytearray()
        self._writing = threading.Lock()
        self._pending_bytes = 0

    def _keep_flushing(self) -> None:
        while not self._stopping.wait(FLUSH_INTERVAL_S):
            if self._buffer or self._unwritten:
                self.flush()

    def _wait_for_room(self) -> None:
        while self._is_open and (
            len(self._buffer) > MAX_BUFFERED_EVENTS or self._pending_bytes > MAX_PENDING_BYTES
        ):
            # Rather than wait for the thread, do its work; sleep only where the disk refuses.
            if not self.flush():
                time.sleep(FLUSH_INTERVAL_S)
        if not self._is_open:
            self._buffer.clear()
            self._pending_bytes = 0

    def _encode_lines(self) -> None:
        """Number what is buffered; not beyond the limit, so that callers feel a full disk."""
        count = len(self._buffer)
        if count and len(self._unwritten) <= MAX_PENDING_BYTES:
            lines = [
                f'{{"seq":{seq},{event if isinstance(event, str) else self._body(event)}}}\n'
                for seq, event in enumerate(self._buffer[:count], self._next_seq)
            ]
            del self._buffer[:count]
            self._next_seq += count
            self._unwritten += self._mask.apply("".join(lines)).encode("ascii")
            self._pending_bytes = len(self._unwritten)

    def _body(self, event: DeferredEvent) -> str:
        return self._formatters[event[0]](event)

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
            with contextlib.suppress(StoreError):
                self._fd = _open_for_append(self.path)
        if not self._is_failing:
            self._is_failing = True
            log.error("journal.write_failed", path=str(self.path), error=error.strerror)


def shortened(body: str) -> str:
    """The same event without its large fields: a line too long would be refused as a whole."""
    fields = json.loads("{" + body + "}")
    for name, value in fields.items():
        size = len(json.dumps(value))
        if size > _LARGE_FIELD_BYTES:
            fields[name] = {"omitted_bytes": size}
    return json.dumps(fields, separators=(",", ":"))[1:-1]


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
