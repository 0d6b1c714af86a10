"""Bridge: messages from a script's processes to whoever started it, through a FIFO.

The script's threads only append to a queue; a thread of ours sends. Nothing here waits for the
reader, and a reader that is gone ends the bridge.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from mosaic.injection.episode_file import EpisodeFile
from mosaic.injection.outbox import INTERVAL_S, Outbox
from mosaic.injection.tape import BYTES_PER_STEP, Recorded

_TICK_S = 0.1
_LAST_CHANCE_S = 0.3  # for a full pipe, when the script ends
_MAX_QUEUED = 200_000
_MAX_RECORDED_BYTES = 128 * 2**20  # that wait for a slow disk

Ended = tuple[float, int, int, "Recorded | None"]  # as `episode` gets it


class Bridge:
    """May be used from any thread, and after a fork: the child has a queue of its own."""

    def __init__(
        self, path: str, interval_s: float = INTERVAL_S, episode_file: EpisodeFile | None = None
    ) -> None:
        self._path, self._interval_s, self._file = path, interval_s, episode_file
        self._on_tick: Callable[[float, bool], None] | None = None
        self._start_over()
        self._fd = self._open()
        self._identity = None if self._fd is None else _identity(self._fd)
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._start_over)

    def _start_over(self) -> None:
        self._queue: deque[tuple[Any, ...]] = deque(maxlen=_MAX_QUEUED)
        self._episodes: deque[Ended] = deque(maxlen=_MAX_QUEUED)
        self._ended = 0  # episodes so far: each has a number
        self._recorded_bytes = self._written_bytes = 0
        if self._file is not None:
            self._file.start_over()
        self._pid = os.getpid()
        self._outbox = Outbox(self._interval_s, pid=self._pid)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._stopping = threading.Event()

    def _open(self) -> int | None:
        try:
            return os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None  # nobody reads, or nobody will

    def metric(self, name: str, value: float, step: int | None = None) -> None:
        self._put((self._outbox.metric, name, value, step))

    def episode(
        self, total: float, length: int, env: int, recorded: Recorded | None = None
    ) -> None:
        # Thousands a second, where episodes are short: as little as possible is done here.
        if recorded is not None:
            if self._recorded_bytes - self._written_bytes < _MAX_RECORDED_BYTES:
                self._recorded_bytes += BYTES_PER_STEP * length
            else:
                recorded = None
        self._episodes.append((total, length, env, recorded))
        if self._thread is None and self._fd is not None:
            self._start()

    def progress(self, steps: int) -> None:
        self._message(kind="progress", steps=steps, pid=self._pid)

    def note(self, text: str) -> None:
        self._message(kind="note", text=text)

    def vectors(self, gymnasium: str) -> None:
        self._message(kind="vectors", gymnasium=gymnasium)

    def tensorboard(self, path: str) -> None:
        self._message(kind="tensorboard", path=path)

    def wandb(self, path: str) -> None:
        self._message(kind="wandb", path=path)

    def each_tick(self, call: Callable[[float, bool], None]) -> None:
        """Calls it with the time and whether it is the last one, in the thread that sends."""
        self._on_tick = call
        if self._fd is not None and self._thread is None:
            self._start()

    def close(self) -> None:
        """Sends what is left, unless the reader is too slow for it."""
        thread = self._thread
        self._stopping.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LAST_CHANCE_S + _TICK_S)
            if not thread.is_alive():  # a program whose exec fails goes on: with a new one
                self._thread, self._stopping = None, threading.Event()

    def _message(self, **message: Any) -> None:
        self._put((self._outbox.message, message))

    def _put(self, item: tuple[Any, ...]) -> None:
        if self._fd is None:
            return
        self._queue.append(item)
        if self._thread is None:
            self._start()

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
            is_stopping = self._stopping.wait(_TICK_S)
            with contextlib.suppress(Exception):  # a watcher's error must not end the others' news
                if self._on_tick is not None:
                    self._on_tick(time.monotonic(), is_stopping)
            self._send(is_last=is_stopping)
        deadline = time.monotonic() + _LAST_CHANCE_S
        while self._fd is not None and not self._send(is_last=True):
            if time.monotonic() > deadline:
                return
            time.sleep(0.01)

    def _send(self, *, is_last: bool) -> bool:
        while self._queue:
            take, *values = self._queue.popleft()
            take(*values)
        ended = [self._episodes.popleft() for _ in range(len(self._episodes))]
        first, self._ended = self._ended, self._ended + len(ended)
        if self._file is not None:
            self._record(self._file, list(enumerate(ended, first)))
        self._outbox.episodes([(*each[:3], number) for number, each in enumerate(ended, first)])
        return self._outbox.drain(time.monotonic(), self._write, is_last=is_last)

    def _record(self, file: EpisodeFile, ended: list[tuple[int, Ended]]) -> None:
        """Before they are told, so that whoever hears of an episode finds it."""
        recorded = [(number, each[3]) for number, each in ended if each[3] is not None]
        if not recorded:
            return
        file.write(recorded)
        self._written_bytes += sum(BYTES_PER_STEP * len(each[4]) for _, each in recorded)
        self._outbox.process = file.process

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
            self._fd = None
            os.close(fd)
            return False
        except OSError:
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
