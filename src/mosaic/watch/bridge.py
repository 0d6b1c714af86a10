"""The bridge: a folder in which every process of a script can report: a pipe for messages, and
ledgers of values and episodes.

It lies in shared memory under the run's prefix, so that the run host removes it also when this
process is killed; where there is too little of that, on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import select
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mosaic.contracts.ledger import (
    CLOSED,
    COUNTER,
    EPISODE,
    EVALUATION,
    FLAG,
    HEAD,
    HEAD_BYTES,
    KIND,
    LOST_EPISODES,
    LOST_VALUES,
    MAGIC,
    MAX_NAME_BYTES,
    NAME_END,
    NAME_PART,
    PART,
    READ,
    RECORD,
    RECORDED,
    STEPS,
    TRUNCATED,
    VALUE,
    WINDOW_RECORDS,
    ledger_number,
    record_offset,
)
from mosaic.contracts.run_files import shared_memory_prefixes
from mosaic.foreign.files import require_regular
from mosaic.runhost.output_lines import LineSplitter
from mosaic.watch.messages import (
    MAX_COUNT,
    MAX_LINE_BYTES,
    Episode,
    Message,
    Metric,
    Progress,
    parse_message,
    plain_name,
)

# -- Ledgers: what the processes of a script write into theirs
#
# Anything may be in such a file: every field is checked, and what is no ledger is left alone. No
# file stays open: a script may have more processes than a process may have descriptors.

MAX_NAMES = 10_000  # of one process
_CHUNK_RECORDS = 2_560  # read at once; windows and the ring end where such a chunk ends
# A place that stays empty although later ones are written: its writer was interrupted for good.
_GAP_S = 1.0
_LOOK_AHEAD_RECORDS = 1_024

Take = Callable[[Message], None]


class Ledger:
    """Of one process. `read` hands on what is new."""

    def __init__(self, path: Path, number: int) -> None:
        self._path, self._number = path, number
        self.lost_values = self.lost_episodes = 0
        self._place = 0  # of the next record
        self._gap_since: float | None = None
        self._given_back = 0  # places whose memory is free again
        self._names: dict[int, str | None] = {}
        self._parts: dict[int, bytes] = {}  # of names that have not come to their end
        self._steps = self._steps_of_episodes = 0

    def read(self, take: Take, now: float, *, is_last: bool) -> bool:
        """True when its process has closed it. Raises OSError where it cannot be read."""
        with _opened(self._path) as fd:
            head = os.pread(fd, HEAD_BYTES, 0)
            if len(head) < HEAD_BYTES or HEAD.unpack_from(head)[0] != MAGIC:
                return False  # it is being made, or it is none
            # Looked at before the records: whatever was written before it was closed is read.
            is_closed = bool(FLAG.unpack_from(head, CLOSED)[0])
            while self._read_chunk(fd, take) or self._pass_gap(fd, now, is_last or is_closed):
                self._give_back(fd)
        (self.lost_values,) = COUNTER.unpack_from(head, LOST_VALUES)
        (self.lost_episodes,) = COUNTER.unpack_from(head, LOST_EPISODES)
        (counted,) = COUNTER.unpack_from(head, STEPS)
        # A process that was killed had no time to count the steps of its last episodes.
        steps = min(max(counted, self._steps_of_episodes), MAX_COUNT)
        if steps > self._steps:
            self._steps = steps
            take(Progress(steps, self._number))
        return is_closed

    def _read_chunk(self, fd: int, take: Take) -> bool:
        """What there is up to the end of a chunk; False when that is nothing."""
        first = self._place
        count = _CHUNK_RECORDS - first % _CHUNK_RECORDS
        data = os.pread(fd, count * RECORD.size, record_offset(first))
        whole = memoryview(data)[: len(data) - len(data) % RECORD.size]
        names, place = self._names, first
        for record in RECORD.iter_unpack(whole):
            kind = record[5]
            if kind == VALUE:
                name, step = names.get(record[2]), record[0]
                if name is not None:
                    take(Metric(name, record[1], step if 0 <= step <= MAX_COUNT else None))
            elif kind == EPISODE:
                self._take_episode(take, record)
            elif kind in (NAME_PART, NAME_END):
                offset = (place - first) * RECORD.size
                self._take_part(data[offset : offset + RECORD.size], is_end=kind == NAME_END)
            elif kind == 0:
                break
            place += 1
        if place == first:
            return False
        self._go_to(fd, place)
        return True

    def _go_to(self, fd: int, place: int) -> None:
        self._place, self._gap_since = place, None
        os.pwrite(fd, COUNTER.pack(place), READ)

    def _take_episode(self, take: Take, record: tuple[int, float, int, int, int, int]) -> None:
        number, total, length, environment, flags, _ = record
        is_evaluation = bool(flags & EVALUATION)
        if not is_evaluation:
            self._steps_of_episodes += length
        # Where it was recorded, if it was.
        place = (self._number, number) if flags & RECORDED and 0 <= number <= MAX_COUNT else (0, 0)
        is_truncated = bool(flags & TRUNCATED)
        take(Episode(total, length, environment, is_truncated, is_evaluation, *place))

    def _take_part(self, record: bytes, *, is_end: bool) -> None:
        piece, number, _, size, _ = PART.unpack(record)
        text = self._parts.pop(number, b"") + piece[:size]
        if len(text) > MAX_NAME_BYTES or len(self._names) >= MAX_NAMES:
            return
        if is_end:
            self._names[number] = plain_name(text.decode("utf-8", "replace"))
        else:
            self._parts[number] = text

    def _pass_gap(self, fd: int, now: float, is_last: bool) -> bool:
        """True when the next place was empty for too long and is left out."""
        later = os.pread(fd, _LOOK_AHEAD_RECORDS * RECORD.size, record_offset(self._place))
        if not any(later[KIND :: RECORD.size]):
            return False  # nothing has been written yet
        if self._gap_since is None:
            self._gap_since = now
        if not is_last and now - self._gap_since < _GAP_S:
            return False
        self._go_to(fd, self._place + 1)
        return True

    def _give_back(self, fd: int) -> None:
        """The memory of whole windows that were read; they are empty again."""
        size = WINDOW_RECORDS * RECORD.size
        while self._place - self._given_back >= WINDOW_RECORDS:
            offset = record_offset(self._given_back)
            try:
                with mmap.mmap(fd, size, offset=offset) as window:
                    window.madvise(mmap.MADV_REMOVE)
            except OSError:  # a file system that cannot: empty is what matters
                os.pwrite(fd, bytes(size), offset)
            self._given_back += WINDOW_RECORDS


class Ledgers:
    """All of a folder, those that come later included."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, Ledger] = {}
        self.lost_values = self.lost_episodes = 0  # of those that are closed

    def read(self, take: Take, *, is_last: bool = False) -> None:
        """Hands on what is new; the last time, all there is."""
        now = time.monotonic()
        with os.scandir(self._folder) as entries:
            names = {entry.name: ledger_number(entry.name) for entry in entries}
        for name, number in sorted(names.items()):
            if number is None:
                continue
            path = self._folder / name
            ledger = self._known.setdefault(number, Ledger(path, number))
            with contextlib.suppress(OSError):  # it will do better next time, or it is none
                if ledger.read(take, now, is_last=is_last) or is_last:
                    self._leave(number, path)

    def _leave(self, number: int, path: Path) -> None:
        ledger = self._known.pop(number)
        self.lost_values += ledger.lost_values
        self.lost_episodes += ledger.lost_episodes
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(path, flags)
    try:
        require_regular(os.fstat(fd), path)
        yield fd
    finally:
        os.close(fd)


# -- The bridge

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
