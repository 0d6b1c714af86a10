"""The terminal that pictures are shown in: its size, its keys, and what it can draw.

However the show ends, the terminal is as it was before.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import struct
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from mosaic.fastlane.tiling import Picture
from mosaic.files import is_readable, write_all
from mosaic.frames.drawing import ASCII, AUTO, BLOCKS, KITTY, SIXEL, USUAL_CELL, Renderer, Room
from mosaic.frames.renderers import BlockRenderer, CharacterRenderer, KittyRenderer, SixelRenderer

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


_ANSWER_WAIT_S = 0.3
_QUESTION = b"\x1b[c"  # device attributes
_ANSWER = re.compile(rb"\x1b\[\?([\d;]*)c")
_HAS_SIXEL = "4"


def chosen_style(wanted: str, variables: Mapping[str, str], has_sixel: bool) -> str:
    if wanted != AUTO:
        return wanted
    if _is_kitty(variables):
        return KITTY
    if has_sixel:
        return SIXEL
    return ASCII if variables.get("NO_COLOR") else BLOCKS


def is_worth_asking(wanted: str, variables: Mapping[str, str]) -> bool:
    return wanted == AUTO and not _is_kitty(variables)


def _is_kitty(variables: Mapping[str, str]) -> bool:
    # Within a multiplexer the variable is that of the terminal around it, which shows nothing.
    if variables.get("TMUX") or variables.get("STY"):
        return False
    return "kitty" in variables.get("TERM", "") or bool(variables.get("KITTY_WINDOW_ID"))


def renderer_for(style: str, variables: Mapping[str, str]) -> Renderer:
    if style == KITTY:
        return KittyRenderer()
    if style == SIXEL:
        return SixelRenderer()
    if style == ASCII:
        return CharacterRenderer()
    return BlockRenderer(variables.get("COLORTERM", "").lower() in ("truecolor", "24bit"))


def tells_sixel(answer: bytes) -> bool:
    found = _ANSWER.search(answer)
    return found is not None and _HAS_SIXEL in found[1].decode("ascii").split(";")


def ask_for_sixel(fd: int, wait_s: float = _ANSWER_WAIT_S) -> bool:
    """Whether the terminal says that it draws sixels; its mode is as before in any case."""
    try:
        before = termios.tcgetattr(fd)
    except termios.error:
        return False
    try:
        # Without line buffering and echo, or the answer would wait for a newline and be seen.
        tty.setcbreak(fd, termios.TCSANOW)
        write_all(fd, _QUESTION)
        return tells_sixel(_read_answer(fd, time.monotonic() + wait_s))
    except OSError:
        return False
    finally:
        # Flushed: an answer that comes late must not look like something typed.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(fd, termios.TCSAFLUSH, before)


def _read_answer(fd: int, deadline: float) -> bytes:
    answer = b""
    while _ANSWER.search(answer) is None and len(answer) < 1024:
        if not is_readable(fd, deadline - time.monotonic()):
            break
        data = os.read(fd, 256)
        if not data:
            break
        answer += data
    return answer


LEFT, RIGHT, UP, DOWN = "left", "right", "up", "down"
HOME, END, PAGE_UP, PAGE_DOWN = "home", "end", "page up", "page down"

# Terminals differ in what they send for the same key.
_SEQUENCES = {
    b"A": UP,
    b"B": DOWN,
    b"C": RIGHT,
    b"D": LEFT,
    b"H": HOME,
    b"F": END,
    b"1~": HOME,
    b"4~": END,
    b"5~": PAGE_UP,
    b"6~": PAGE_DOWN,
    b"7~": HOME,
    b"8~": END,
}
_KEY = re.compile(rb"\x1b[\[O]([0-9;]*[A-Za-z~])|([^\x1b])|\x1b", re.DOTALL)


def keys_in(typed: bytes) -> list[str]:
    """Names of the keys, in their order; characters are their own names, others are left out."""
    keys = []
    for match in _KEY.finditer(typed):
        sequence, character = match[1], match[2]
        if sequence is not None:
            keys.append(_SEQUENCES.get(sequence, ""))
        elif character is not None and character.isascii():
            keys.append(character.decode())
    return [key for key in keys if key]
