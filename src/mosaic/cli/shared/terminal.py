"""What is printed and how: colours only on a terminal, and nothing from outside that steers one.

A terminal obeys what it is sent. In a name or a message of a worker, a script or an archive there
may be orders to fill the clipboard, to rename the window, to wipe the screen, and marks that turn
the order of letters around. `printable` shows such text; whatever is said passes `only_coloured`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any, TextIO

from mosaic.contracts.events import finite_json

RESET = "\x1b[0m"
# Colours and the like, nothing private: `ESC [ > 4 m` would change what keys send.
COLOUR_ORDER = re.compile(r"(\x1b\[[0-9;:]{0,64}m)")
# Control and format characters, halves of characters, and two ends of line that hide as spaces.
_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colour(stream: TextIO) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    if not colour or not text or not has_colour(stream or sys.stdout):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}{RESET}"


def printable(text: str) -> str:
    """The same text, on one line, with nothing in it that could steer a terminal."""
    return text if text.isprintable() else "".join(map(_shown, text))


def printable_json(line: str) -> str:
    """A line of JSON with the same meaning, in which such characters are spelled out."""
    return line if line.isprintable() else "".join(map(_spelled, line))


def colours_only(text: str) -> str:
    """Lines that are about to be printed: of all orders to the terminal, colours alone are left."""
    if text.isprintable():
        return text
    pieces = COLOUR_ORDER.split(text)  # text and colour in turn
    pieces[::2] = ["\n".join(map(printable, piece.split("\n"))) for piece in pieces[::2]]
    return "".join(pieces)


def _shown(c: str) -> str:
    is_harmless = c == "\t" or unicodedata.category(c) not in _STEERING
    return c if is_harmless else "\N{REPLACEMENT CHARACTER}"


def _spelled(c: str) -> str:
    if _shown(c) == c:
        return c
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def say(text: str = "") -> None:
    print(colours_only(text), flush=True)


def say_to_stderr(text: str) -> None:
    """On standard error, for standard output may be data."""
    print(colours_only(text), file=sys.stderr, flush=True)


def say_json(value: Any, indent: int | None = 2) -> None:
    text = json.dumps(finite_json(value), indent=indent, allow_nan=False, default=str)
    say("\n".join(map(printable_json, text.split("\n"))))


def confirmed(question: str, *, yes_is_usual: bool = False) -> bool:
    """`yes_is_usual`: Enter alone means yes; the end of the input never does."""
    try:
        answer = input(colours_only(f"{question} {'[Y/n]' if yes_is_usual else '[y/N]'} "))
    except EOFError:
        return False
    word = answer.strip().lower()
    return word in ("y", "yes") or (yes_is_usual and not word)


def text_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, width: int) -> str:
    if text_width(text) <= width:
        return text
    kept = ""
    for c in text:
        if text_width(kept + c) >= width:
            break
        kept += c
    return kept + "…"


def say_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    colours: Sequence[str] = (),
    flexible: int = 0,
) -> None:
    """Aligned columns; on a terminal the flexible column gives way when the line is too long.

    `colours` names one colour per row, or "" for none.
    """
    table = [tuple(map(printable, row)) for row in (header, *rows)]
    widths = [max(text_width(row[i]) for row in table) for i in range(len(header))]
    if is_terminal(sys.stdout):
        excess = sum(widths) + 2 * (len(widths) - 1) - shutil.get_terminal_size().columns
        widths[flexible] = max(8, widths[flexible] - max(0, excess))
    for number, row in enumerate(table):
        cells = [cut(cell, width) for cell, width in zip(row, widths, strict=True)]
        padded = [
            cell + " " * (width - text_width(cell))
            for cell, width in zip(cells, widths, strict=True)
        ]
        line = "  ".join(padded).rstrip()
        colour = "bold" if number == 0 else (colours[number - 1] if colours else "")
        say(paint(line, colour))


def say_fields(fields: Sequence[tuple[str, str]]) -> None:
    """`name  value` lines, indented, empty values left out."""
    shown = [(name, value) for name, value in fields if value]
    width = max((text_width(printable(name)) for name, _ in shown), default=0)
    for name, value in shown:
        padded = printable(name) + " " * (width - text_width(printable(name)))
        say(f"  {paint(padded, 'dim')}  {printable(value)}")
