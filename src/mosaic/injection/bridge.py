"""Bridge: from a script's processes to whoever started it.

Values and episodes are written down at once, in the ledger of the process. Messages, and episodes
that were recorded, wait in a queue for a thread of ours, which sends the former through a FIFO and
writes the latter to a file. Nothing here waits for a reader, and one that is gone ends it.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import itertools
import json
import os
import signal
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from mosaic.contracts.ledger import (
    EPISODE,
    HEAD_BYTES,
    MAX_ENVIRONMENT,
    MAX_LENGTH,
    NO_STEP,
    RECORD,
    RECORDED,
    RING_RECORDS,
)
from mosaic.injection.episode_file import EpisodeFile, Numbered
from mosaic.injection.ledger_writer import LedgerWriter, write_record
from mosaic.injection.tape import BYTES_PER_STEP, Finished, Recorded, Series

MAX_LINE_BYTES = 4096  # what a pipe takes whole or not at all
_MAX_TEXT = 300  # characters: escaped, each may take twelve bytes
_MAX_WAITING = 1000  # messages
_RECORD_BYTES = RECORD.size
_TICK_S = 0.5  # messages do not wait for it
_PATIENCE_S = 0.05  # with a tick, of the thread that gives way for it
_BUSY_S = 5.0  # until it does so again, where that was not enough
_LAST_CHANCE_S = 0.3  # for a full pipe, when the script ends
_MAX_RECORDED_STEPS = 128 * 2**20 // BYTES_PER_STEP  # that wait for a slow disk


class Bridge:
    """May be used from any thread, and after a fork: the child speaks for itself."""

    def __init__(self, path: str, episode_file: EpisodeFile | None = None) -> None:
        self._path, self._file = path, episode_file
        self._on_tick: Callable[[], None] | None = None
        self._fd = self._open()
        self._identity = None if self._fd is None else _identity(self._fd)
        folder = os.path.dirname(path) if self._fd is not None else ""  # noqa: PTH120
        self._ledger = LedgerWriter(folder, self.note)
        self._start_over()
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._start_over)

    def _start_over(self) -> None:
        self._messages: deque[dict[str, Any]] = deque(maxlen=_MAX_WAITING)
        self._recorded: deque[tuple[int, Recorded | Series, int]] = deque()
        self._recorded_steps = self._written_steps = 0
        self._next_number: Callable[[], int] = itertools.count().__next__
        # Who logged a name first, and its last point: a logger and the TensorBoard writer it
        # writes to tell the same.
        self._last_points: dict[str, tuple[str, int, float]] = {}
        self._ledger.start_over()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._is_stopping = False
        # Held while there is nothing to hurry for. A bare lock wakes the thread for less than an
        # event does, and can be released anywhere, in a signal handler too.
        self._rest = threading.Lock()
        self._rest.acquire()
        self._has_ticked = threading.Lock()  # released after each tick
        self._has_ticked.acquire()
        self._next_turn = 0.0

    def _open(self) -> int | None:
        try:
            return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None  # nobody reads, or nobody will

    def metric(self, name: str, value: float, step: int | None = None, source: str = "") -> None:
        at = NO_STEP if step is None else step
        last = self._last_points.get(name)
        if last is not None and last[0] != source:
            if last[1] == at and (last[2] == value or value != value):
                return
            source = last[0]
        self._last_points[name] = source, at, value
        self._ledger.value(name, value, at)

    def episode(
        self,
        total: float,
        length: int,
        env: int,
        flags: int = 0,
        recorded: Recorded | Series | None = None,
    ) -> None:
        # Thousands a second, where episodes are short: as little as possible is done here.
        next_number = self._next_number
        number = next_number()
        if type(recorded) is Series:
            recorded.numbers.append(number)
            if recorded.is_announced or self._hand_over(number, recorded, len(recorded.rewards)):
                flags |= RECORDED
        elif recorded is not None and self._hand_over(number, recorded, length):
            flags |= RECORDED
        # As the ledger's `episode` does it, without its call.
        book = self._ledger.book
        take = book.take
        place = take()
        if place < book.room and length <= MAX_LENGTH and env <= MAX_ENVIRONMENT:
            offset = HEAD_BYTES + place % RING_RECORDS * _RECORD_BYTES
            write_record(book.memory, offset, number, total, length, env, flags, EPISODE)
        else:
            self._ledger.episode_at(book, place, number, total, length, env, flags)
        if monotonic() >= self._next_turn:
            self._give_turn()

    def _give_turn(self) -> None:
        """The thread has the interpreter now, for as long as its tick takes.

        By itself it would hardly ever get it from a script that lets go of it for a moment
        thousands of times a second, as numpy's random numbers do: each time the thread wakes up
        too late, and Python takes the interpreter away only from one who has kept it for five
        milliseconds. Both pay for that, several per cent where episodes are short.
        """
        self._next_turn = monotonic() + _TICK_S
        if self._thread is None:
            return
        self._has_ticked.acquire(blocking=False)
        self._hurry()
        if not self._has_ticked.acquire(timeout=_PATIENCE_S):
            self._next_turn += _BUSY_S  # as with a slow disk: the script does not wait for that

    def _hand_over(self, number: int, recorded: Recorded | Series, steps: int) -> bool:
        """To the thread; False where that does not come after with writing."""
        is_behind = self._recorded_steps - self._written_steps >= _MAX_RECORDED_STEPS
        if is_behind or self._fd is None:
            return False
        self._recorded_steps += steps
        if isinstance(recorded, Series):
            recorded.is_announced = True
        self._recorded.append((number, recorded, steps))
        if self._thread is None:
            self._start()
        return True

    def progress(self, steps: int) -> None:
        self._ledger.steps(steps)

    def note(self, text: str) -> None:
        self._message(kind="note", text=text)

    def environment(self, env_id: str) -> None:
        self._message(kind="environment", env_id=env_id)

    def vectors(self, gymnasium: str, *, is_looked_for: bool) -> None:
        self._message(kind="vectors", gymnasium=gymnasium, is_looked_for=is_looked_for)

    def tensorboard(self, path: str) -> None:
        self._message(kind="tensorboard", path=path)

    def wandb(self, path: str) -> None:
        self._message(kind="wandb", path=path)

    def each_tick(self, call: Callable[[], None]) -> None:
        """Calls it in the thread that sends, also right before the end."""
        self._on_tick = call
        if self._fd is not None and self._thread is None:
            self._start()

    def close(self) -> None:
        """Sends what is left, unless the reader is too slow for it."""
        thread = self._thread
        self._is_stopping = True
        self._hurry()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LAST_CHANCE_S + 0.1)
            if not thread.is_alive():  # a program whose exec fails goes on: with a new one
                self._thread, self._is_stopping = None, False
        self._ledger.close()

    def _message(self, **message: Any) -> None:
        if self._fd is not None:
            self._messages.append(message)
            if self._thread is None:
                self._start()
            self._hurry()

    def _hurry(self) -> None:
        with contextlib.suppress(RuntimeError):  # it has not slept since it was last woken
            self._rest.release()

    def _start(self) -> None:
        with self._starting:
            if self._thread is not None:
                return
            # Children of multiprocessing leave without running what is registered for the exit.
            util = sys.modules.get("multiprocessing.util")
            if util is not None:
                util.Finalize(self, Bridge.close, args=(self,), exitpriority=0)
            thread = threading.Thread(target=self._run, name="mosaic-bridge", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self._fd = None  # no threads any more: the script is ending
                return
            self._thread = thread

    def _run(self) -> None:
        # Signals are for the script's own threads; and a reader that is gone is an error here,
        # even where the script lets SIGPIPE end it.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        is_stopping = False
        while self._fd is not None and not is_stopping:
            # Episodes that end give it a turn sooner.
            self._rest.acquire(timeout=2 * _TICK_S)
            is_stopping = self._is_stopping
            with contextlib.suppress(Exception):  # a watcher's error must not end the others' news
                if self._on_tick is not None:
                    self._on_tick()
            self._record()
            self._send()
            with contextlib.suppress(RuntimeError):  # nobody has waited for the one before
                self._has_ticked.release()
        deadline = time.monotonic() + _LAST_CHANCE_S
        while self._fd is not None and not self._send():
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)

    def _send(self) -> bool:
        """False when there was no room for all."""
        while self._messages:
            if not self._write(line_of(self._messages[0])):
                return False
            self._messages.popleft()
        return True

    def _record(self) -> None:
        if self._recorded and self._file is not None:
            recorded = self._take_recorded(len(self._recorded))
            self._file.write(self._ledger.number, recorded)
            for _ in recorded:
                pass  # a file that has come to its end does not want it

    def _take_recorded(self, count: int) -> Iterator[Finished | Numbered]:
        """One after the other: the memory of one is free for the next."""
        for _ in range(count):
            number, recorded, steps = self._recorded.popleft()
            yield recorded.take() if isinstance(recorded, Series) else (number, recorded)
            self._written_steps += steps

    def _write(self, line: bytes) -> bool:
        fd = self._fd
        if fd is None:
            return False
        try:
            if _identity(fd) != self._identity:
                fd = self._open_again()
            os.write(fd, line)
            return True
        except BlockingIOError:
            return False
        except BrokenPipeError:
            os.close(fd)
        except OSError:
            pass  # it is not ours any more
        self._fd = None
        return False

    def _open_again(self) -> int:
        """For a script that closes descriptors it does not know, and may have a file of its own
        under that number."""
        fd = self._open()
        if fd is not None and _identity(fd) == self._identity:
            self._fd = fd
            return fd
        if fd is not None:
            os.close(fd)
        raise OSError(errno.EBADF, "not the pipe any more")


def _identity(fd: int) -> tuple[bool, int, int] | None:
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return stat.S_ISFIFO(status.st_mode), status.st_dev, status.st_ino


def line_of(message: dict[str, Any]) -> bytes:
    """At most as long as a pipe takes at once."""
    line = _encoded(message)
    if len(line) <= MAX_LINE_BYTES:
        return line
    return _encoded(
        {
            key: value[:_MAX_TEXT] if isinstance(value, str) else value
            for key, value in message.items()
        }
    )


def _encoded(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
