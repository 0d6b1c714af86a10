"""What is printed and how: colours only on a terminal, no control characters from outside."""

from __future__ import annotations

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any, TextIO

from mosaic.contracts.events import finite_json

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colour(stream: TextIO) -> bool:
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def paint(text: str, colour: str, stream: TextIO | None = None) -> str:
    if not colour or not text or not has_colour(stream or sys.stdout):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def printable(text: str) -> str:
    """The same text with nothing in it that could steer a terminal."""
    return "".join(
        c
        if c == "\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs")
        else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )


def say(text: str = "") -> None:
    print(text, flush=True)


def say_json(value: Any) -> None:
    say(json.dumps(finite_json(value), indent=2, allow_nan=False, default=str))


def confirmed(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def text_width(text: str) -> int:
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
    table = [tuple(header), *(tuple(printable(cell) for cell in row) for row in rows)]
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
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        say(f"  {paint(name.ljust(width), 'dim')}  {printable(value)}")
