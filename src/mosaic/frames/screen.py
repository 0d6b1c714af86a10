"""Screen: the terminal while pictures are shown in it, and as it was before, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import termios
import tty
from collections.abc import Iterator
from types import FrameType
from typing import Any

from mosaic.fastlane.tiling import Picture
from mosaic.files import write_all
from mosaic.frames.drawing import USUAL_CELL, Renderer, Room
from mosaic.polling import is_readable

# Another screen, without cursor; and back.
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J"
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"
# Terminals that know these show what is in between at once; the others ignore them.
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_CLEAR, _CLEAR_LINE = "\x1b[2J", "\x1b[2K"
_SIZE = struct.Struct("HHHH")
_QUIT_KEYS = b"qQ\x04"


class Screen:
    """Draws in one write, and only what changed. Used by one thread, the main one."""

    def __init__(self, renderer: Renderer, fd: int) -> None:
        """The descriptor is of a terminal, for reading and writing."""
        self._renderer, self._fd = renderer, fd
        self._before: Any = None  # the terminal's mode
        self._picture: Picture | None = None
        self._layout: object = None  # size of the picture and of its room
        self._rows = 0  # that the picture covers
        self._line = ""
        self._is_suspended = False

    def __enter__(self) -> Screen:
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()

    def show(self, picture: Picture | None, line: str, colour: str = "") -> None:
        """The picture, None for the last one, and the line below it.

        `colour` is that of the line, as terminals count them: "31" is red.
        """
        if self._is_suspended:
            self._sleep()
        room = terminal_room(self._fd)
        new = picture or self._picture
        layout = (new and new[:2], room)
        is_moved = layout != self._layout
        line = line[: room.columns]
        if colour and line:
            line = f"\x1b[{colour}m{line}\x1b[0m"
        if picture is None and not is_moved and line == self._line:
            return
        output = ""
        if is_moved:
            self._renderer.forget()
            output += _CLEAR + self._renderer.farewell()
            self._rows = 0
        if new is not None and (picture is not None or is_moved):
            drawing = self._renderer.draw(new, room)
            output += drawing.output
            self._rows = drawing.rows
        if is_moved or line != self._line:
            output += f"\x1b[{self._rows + 1};1H{_CLEAR_LINE}{line}"
        self._picture, self._layout, self._line = new, layout, line
        if output:
            self._write(_BEGIN + output + _END)

    def is_quit(self, wait_s: float) -> bool:
        """Waits this long; True as soon as somebody has pressed q."""
        typed = self.typed(wait_s)
        return typed is None or any(key in _QUIT_KEYS for key in typed)

    def typed(self, wait_s: float) -> bytes | None:
        """Waits this long for keys, not longer; None when the terminal is gone."""
        if not is_readable(self._fd, wait_s):
            return b""
        try:
            return os.read(self._fd, 64) or None
        except OSError:
            return None

    def suspend(self) -> None:
        """Asked for by Ctrl-Z: takes effect before the next picture."""
        self._is_suspended = True

    def _sleep(self) -> None:
        self._is_suspended = False
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()

    def _take(self) -> None:
        self._before = termios.tcgetattr(self._fd)
        # No echo; Ctrl-C and Ctrl-Z stay what they are.
        tty.setcbreak(self._fd, termios.TCSADRAIN)
        self._layout = None
        self._write(_ENTER)

    def _give_back(self) -> None:
        with contextlib.suppress(OSError):  # the terminal may be gone
            self._write(self._renderer.farewell() + _LEAVE)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._fd, termios.TCSAFLUSH, self._before)

    def _write(self, text: str) -> None:
        write_all(self._fd, text.encode())


def terminal_room(fd: int) -> Room:
    """What a picture may take: all but the last row, which is for the line."""
    rows, columns, width, height = _SIZE.unpack(fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))
    rows, columns = rows or 24, columns or 80
    cell = (width // columns, height // rows) if width and height else USUAL_CELL
    return Room(columns, max(1, rows - 1), cell if min(cell) > 0 else USUAL_CELL)


@contextlib.contextmanager
def orderly_end(screen: Screen) -> Iterator[None]:
    """Signals that end a program unwind it, so that the terminal is restored; Ctrl-Z as well."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def stop(number: int, frame: FrameType | None) -> None:
        screen.suspend()

    handlers = {signal.SIGTERM: leave, signal.SIGHUP: leave, signal.SIGTSTP: stop}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
