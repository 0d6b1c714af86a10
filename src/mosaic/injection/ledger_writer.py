"""LedgerWriter: writes what this process logs and counts into its ledger, record by record.

It may be used from any thread. A record takes half a microsecond: its place comes from a counter
that one C call advances, and another one writes it, so that there is no lock. Memory is reserved
before it is written to: a full /dev/shm is an error then, not a signal that kills the script.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from mosaic.contracts.ledger import (
    CLOSED,
    COUNTER,
    EPISODE,
    FILE_BYTES,
    FIRST_RECORDS,
    FLAG,
    HEAD,
    HEAD_BYTES,
    LOST_EPISODES,
    LOST_VALUES,
    MAGIC,
    MAX_ENVIRONMENT,
    MAX_LENGTH,
    MAX_NAME_BYTES,
    NAME_END,
    NAME_PART,
    PART,
    PART_BYTES,
    READ,
    RECORD,
    RING_RECORDS,
    STEPS,
    VALUE,
    WINDOW_RECORDS,
    ledger_name,
    record_offset,
)

_TRIES = 100
_SIZE = RECORD.size
write_record = RECORD.pack_into


class OpenLedger:
    """What belongs together of one ledger: replaced as a whole, so that no thread sees half of it.

    `take` gives out places, one after the other; those below `room` have memory.
    """

    __slots__ = ("is_over", "memory", "name_numbers", "number", "room", "take", "take_name")

    def __init__(self, *, is_over: bool) -> None:
        self.number = 0  # 0 as long as there is no file
        self.memory: Any = None
        self.room = 0
        self.is_over = is_over
        self.take: Callable[[], int] = itertools.count().__next__
        self.name_numbers: dict[str, int] = {}
        self.take_name: Callable[[], int] = itertools.count().__next__


class LedgerWriter:
    """`folder` is where ledgers lie; `say` gets a sentence for people when no more can be kept."""

    def __init__(self, folder: str, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self.start_over()

    def start_over(self) -> None:
        """With another ledger: after a fork this one is the parent's."""
        self.book = OpenLedger(is_over=not self._folder)
        self._lose_value: Callable[[], int] = itertools.count(1).__next__
        self._lose_episode: Callable[[], int] = itertools.count(1).__next__
        self._steps_before = self._all_steps = 0
        self._growing = threading.Lock()

    @property
    def number(self) -> int:
        """Of the ledger; 0 as long as there is none."""
        return self.book.number

    def value(self, name: str, value: float, step: int) -> None:
        book = self.book
        number = book.name_numbers.get(name)
        if number is None:
            number = self._write_name(book, name)
        take = book.take
        place = take()
        if place >= book.room and not self._grow(book, place):
            self._count_lost(book, LOST_VALUES, self._lose_value)
            return
        offset = HEAD_BYTES + place % RING_RECORDS * _SIZE
        write_record(book.memory, offset, step, value, number, 0, 0, VALUE)

    def episode(self, number: int, total: float, length: int, environment: int, flags: int) -> None:
        book = self.book
        self.episode_at(book, book.take(), number, total, length, environment, flags)

    def episode_at(
        self,
        book: OpenLedger,
        place: int,
        number: int,
        total: float,
        length: int,
        environment: int,
        flags: int,
    ) -> None:
        """At a place that was taken, whether it has memory or not."""
        if place >= book.room and not self._grow(book, place):
            self._count_lost(book, LOST_EPISODES, self._lose_episode)
            return
        length, environment = min(length, MAX_LENGTH), min(environment, MAX_ENVIRONMENT)
        offset = record_offset(place)
        write_record(book.memory, offset, number, total, length, environment, flags, EPISODE)

    def steps(self, count: int) -> None:
        """Environment steps of this process so far."""
        book = self.book
        if book.memory is not None or self._grow(book, 0):
            self._all_steps = count
            COUNTER.pack_into(book.memory, STEPS, max(0, count - self._steps_before))

    def close(self) -> None:
        """Whatever the process says after all goes into another one, with steps from here on."""
        book, steps = self.book, self._all_steps
        self.start_over()
        self._steps_before = steps
        if book.memory is not None:
            FLAG.pack_into(book.memory, CLOSED, 1)

    def _write_name(self, book: OpenLedger, name: str) -> int:
        """Other threads know its number only when it is written."""
        text = name.encode("utf-8", "replace")[:MAX_NAME_BYTES]
        number = book.take_name()
        starts = range(0, max(len(text), 1), PART_BYTES)
        for part, start in enumerate(starts):
            piece = text[start : start + PART_BYTES]
            kind = NAME_END if part == len(starts) - 1 else NAME_PART
            place = book.take()
            if place >= book.room and not self._grow(book, place):
                break  # nor is there room for its values
            PART.pack_into(book.memory, record_offset(place), piece, number, part, len(piece), kind)
        book.name_numbers[name] = number
        return number

    def _count_lost(self, book: OpenLedger, counter: int, lose: Callable[[], int]) -> None:
        if book.memory is not None:
            COUNTER.pack_into(book.memory, counter, lose())

    def _grow(self, book: OpenLedger, place: int) -> bool:
        """Make room up to this place and beyond; False when there is none, from then on."""
        # Not for ever: a signal handler may have interrupted this very thread in here.
        growing = self._growing
        if not growing.acquire(timeout=1):
            return False
        try:
            while place >= book.room and not book.is_over:
                self._reserve_next(book)
        except OSError as error:
            book.is_over = True  # what came after a gap would not be in order
            self._say(f"values and episodes from here on are not kept: {_reason(error)}")
        finally:
            growing.release()
        return place < book.room

    def _reserve_next(self, book: OpenLedger) -> None:
        if book.memory is None:
            self._make(book)
        # The first window is taken in two parts.
        first = book.room
        count = FIRST_RECORDS if first == 0 else WINDOW_RECORDS - first % WINDOW_RECORDS
        (read,) = COUNTER.unpack_from(book.memory, READ)
        if first + count - read > RING_RECORDS - WINDOW_RECORDS:
            raise OSError(errno.ENOBUFS, "they come faster than they can be stored")
        fd = os.open(self._path(book.number), os.O_RDWR | os.O_CLOEXEC)
        try:
            os.posix_fallocate(fd, record_offset(first), count * _SIZE)
        finally:
            os.close(fd)
        book.room = first + count

    def _make(self, book: OpenLedger) -> None:
        number = time.time_ns() // 1000  # unlike a process id, not given twice
        for candidate in range(number, number + _TRIES):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            try:
                fd = os.open(self._path(candidate), flags, 0o600)
            except FileExistsError:
                continue
            try:
                os.posix_fallocate(fd, 0, HEAD_BYTES)
                os.ftruncate(fd, FILE_BYTES)
                memory = mmap.mmap(fd, FILE_BYTES)
            finally:
                os.close(fd)
            HEAD.pack_into(memory, 0, MAGIC, os.getpid(), 0)
            book.number, book.memory = candidate, memory
            return
        raise OSError(errno.EEXIST, "all names are taken")

    def _path(self, number: int) -> str:
        return f"{self._folder}/{ledger_name(number)}"


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
