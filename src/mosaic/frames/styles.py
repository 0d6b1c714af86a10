"""Which way of drawing a terminal can show. It is asked at most once, and not for long."""

from __future__ import annotations

import contextlib
import os
import re
import termios
import time
import tty
from collections.abc import Mapping

from mosaic.files import write_all
from mosaic.frames.blocks import BlockRenderer
from mosaic.frames.characters import CharacterRenderer
from mosaic.frames.drawing import ASCII, AUTO, BLOCKS, KITTY, SIXEL, Renderer
from mosaic.frames.kitty import KittyRenderer
from mosaic.frames.sixel import SixelRenderer
from mosaic.polling import is_readable

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
