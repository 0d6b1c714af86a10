"""Ledgers: reads what the processes of a script write into theirs.

Anything may be in such a file: every field is checked, and what is no ledger is left alone. No
file stays open: a script may have more processes than a process may have descriptors.
"""

from __future__ import annotations

import contextlib
import mmap
import os
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
from mosaic.foreign_files import require_regular
from mosaic.watch.messages import MAX_COUNT, Episode, Message, Metric, Progress, plain_name

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
