"""Recorder: hands frames to a process that encodes them, and never waits for it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import NamedTuple

from mosaic.errors import DependencyError
from mosaic.fastlane.tiling import Picture
from mosaic.frames.encoder import Begin, End, Frame, Message, packed

_MOST_WAITING_BYTES = 32 * 2**20
_END_WAIT_S = 30.0
ENCODER = ("-m", "mosaic.frames.encoder")


class Movie(NamedTuple):
    """What became of a file."""

    path: Path
    frames: int = 0
    width: int = 0
    height: int = 0
    seconds: float = 0.0
    error: str = ""


class Recorder:
    """`begin` a file, `add` frames, `end` it, as often as wanted; `close` waits for the encoder.

    When the encoder is slower than the frames come, frames are dropped and counted.
    """

    def __init__(self, fps: float, command: tuple[str, ...] = ENCODER) -> None:
        if importlib.util.find_spec("av") is None:
            raise DependencyError(
                "Videos need PyAV, which is not installed",
                hint='pip install "mosaic-rl[video]"',
            )
        self.dropped = 0
        self._changed = threading.Condition()
        self._waiting: deque[Message] = deque()
        self._waiting_bytes = 0
        self._is_closing = False
        self._has_died = False
        self._current: Path | None = None
        self._unfinished: list[Path] = []
        self._done: list[Movie] = []
        self._process = subprocess.Popen(
            [sys.executable, *command, str(fps)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it would write across the picture
            start_new_session=True,  # what is typed at the terminal is not for it
        )
        self._threads = [
            threading.Thread(target=work, name=f"mosaic-recorder-{work.__name__}", daemon=True)
            for work in (self._feed, self._listen)
        ]
        for thread in self._threads:
            thread.start()

    def begin(self, path: Path) -> None:
        self._current = path
        with self._changed:
            self._unfinished.append(path)
        self._put(Begin(str(path)))

    def add(self, picture: Picture, at_s: float) -> bool:
        """False when it was dropped."""
        with self._changed:
            size = len(picture.pixels)
            if self._waiting_bytes + size > _MOST_WAITING_BYTES or self._has_died:
                self.dropped += 1
                return False
            self._waiting_bytes += size
        self._put(Frame(at_s, picture))
        return True

    def wait_for_room(self, wait_s: float) -> bool:
        """Until a frame would not be dropped, for those who can wait. False: that took too long."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._waiting_bytes < _MOST_WAITING_BYTES // 2 or self._has_died, wait_s
            )

    def end(self) -> None:
        if self._current is not None:
            self._current = None
            self._put(End())

    def done(self) -> list[Movie]:
        """Files finished since the last call."""
        with self._changed:
            done, self._done = self._done, []
            return done

    @property
    def has_died(self) -> bool:
        return self._has_died

    def close(self, wait_s: float = _END_WAIT_S) -> list[Movie]:
        """The rest of the files; one the encoder did not finish in time has an error."""
        self.end()
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        try:
            self._process.wait(wait_s)
            reason = f"the encoder ended with status {self._process.returncode}"
        except subprocess.TimeoutExpired:
            reason = f"the encoder did not finish within {wait_s:g} s"
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(wait_s)
        lost = [Movie(path, error=reason) for path in self._unfinished]
        self._unfinished.clear()
        return self.done() + lost

    def _put(self, message: Message) -> None:
        with self._changed:
            self._waiting.append(message)
            self._changed.notify()

    def _feed(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            with pipe:
                while (message := self._next()) is not None:
                    for part in packed(message):
                        pipe.write(part)
                    pipe.flush()
        except OSError:
            with self._changed:
                self._has_died = True  # `close` says how it ended
                self._changed.notify_all()

    def _next(self) -> Message | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            if not self._waiting:
                return None
            message = self._waiting.popleft()
            if isinstance(message, Frame):
                self._waiting_bytes -= len(message.picture.pixels)
                self._changed.notify_all()
            return message

    def _listen(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        with pipe:
            for line in pipe:
                about = json.loads(line)
                movie = Movie(**{**about, "path": Path(about["path"])})
                with self._changed:
                    self._unfinished.remove(movie.path)
                    self._done.append(movie)
