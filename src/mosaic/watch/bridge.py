"""The bridge: a folder in which every process of a script can report: a pipe for messages, and
ledgers of values and episodes.

It lies in shared memory under the run's prefix, so that the run host removes it also when this
process is killed; where there is too little of that, on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mosaic.contracts.run_files import shared_memory_prefixes
from mosaic.runhost.line_splitter import LineSplitter
from mosaic.watch.ledgers import Ledgers
from mosaic.watch.messages import MAX_LINE_BYTES, Message, parse_message

SHARED_MEMORY = Path("/dev/shm")
TICK_S = 0.5
LOOK_S = 0.1  # between two looks at the ledgers
# Somebody the script left behind may write for ever; what is in the pipe at the end is little.
LAST_READ_S = 5.0
# Ledgers of many processes need less; with less than this nobody else has enough either.
MIN_MEMORY_BYTES = 32 * 2**20
_CHUNK = 65_536
_WIDE_PIPE = 1_048_576


@contextlib.contextmanager
def bridge_pipe(run_id: str, folder: Path = SHARED_MEMORY) -> Iterator[Path]:
    """A new named pipe in a folder of our own, which is gone when the context is left."""
    private = folder / f"{shared_memory_prefixes(run_id)[-1]}.bridge-{os.getpid()}"
    try:
        if not has_room(folder):
            raise OSError(errno.ENOSPC, "too little shared memory")
        private.mkdir(0o700)
    except OSError:  # no shared memory here, too little, or a name somebody else took
        private = Path(tempfile.mkdtemp(prefix="mosaic-bridge-"))
    try:
        os.mkfifo(private / "pipe", 0o600)
        yield private / "pipe"
    finally:
        shutil.rmtree(private, ignore_errors=True)


def has_room(folder: Path) -> bool:
    about = os.statvfs(folder)
    return about.f_bavail * about.f_frsize >= MIN_MEMORY_BYTES


class Bridge:
    """Reads the pipe in a thread of its own until it is closed.

    `take` gets each message and `tick` is called now and then, both in that thread.
    """

    def __init__(
        self, path: Path, take: Callable[[Message], None], tick: Callable[[], None]
    ) -> None:
        # Open for writing too: so there is no end of file whenever the last writer leaves, and
        # a script can open its end at once.
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        with contextlib.suppress(OSError):  # beyond this user's share of pipe memory
            fcntl.fcntl(self._fd, fcntl.F_SETPIPE_SZ, _WIDE_PIPE)
        self._wake_read, self._wake_write = os.pipe()
        self._take = take
        self._tick = tick
        self.ledgers = Ledgers(path.parent)
        self._lines = LineSplitter(MAX_LINE_BYTES)
        self._garbage = 0
        self._speaking = threading.Lock()
        self._thread = threading.Thread(target=self._read_on, name="bridge", daemon=True)
        self._thread.start()

    @property
    def garbage(self) -> int:
        """Lines that were no messages."""
        return self._garbage + self._lines.oversized

    @contextlib.contextmanager
    def silenced(self) -> Iterator[None]:
        """Nothing is taken while the context lasts; what is said meanwhile comes after it."""
        with self._speaking:
            yield

    def close(self) -> None:
        """Take what is still in the pipe, then end."""
        os.write(self._wake_write, b".")
        self._thread.join(2 * LAST_READ_S)
        if not self._thread.is_alive():
            for fd in (self._fd, self._wake_read, self._wake_write):
                os.close(fd)

    def _read_on(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._wake_read, select.POLLIN)
        next_look = next_tick = time.monotonic()
        while True:
            ready = {fd for fd, _ in poll.poll(LOOK_S * 1000)}
            if self._fd in ready:
                self._read_chunk()
            now = time.monotonic()
            if now >= next_look:
                next_look = now + LOOK_S
                with self._speaking:
                    self.ledgers.read(self._take)
            if now >= next_tick:
                next_tick = now + TICK_S
                with self._speaking:
                    self._tick()
            if self._wake_read in ready:
                break
        deadline = time.monotonic() + LAST_READ_S
        while time.monotonic() < deadline and self._read_chunk():
            pass
        with self._speaking:
            self.ledgers.read(self._take, is_last=True)

    def _read_chunk(self) -> bool:
        """False when the pipe is empty."""
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return False
        with self._speaking:
            for line in self._lines.feed(chunk):
                self._take_line(line)
        return True

    def _take_line(self, line: bytes) -> None:
        message = parse_message(line)
        if message is not None:
            self._take(message)
        elif line.strip():
            self._garbage += 1
