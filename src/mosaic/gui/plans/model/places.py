"""Places in a line: a checker counts characters, a text of Qt halves of some."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z0-9_.]+")


def utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def marked_span(line: str, column: int) -> tuple[int, int]:
    """What is underlined for a problem at this column, which counts from 1, as Qt counts.

    A whole word, or one sign; behind the end of the line, what is before it.
    """
    begin = max(0, column - 1)
    if begin >= len(line.rstrip()):
        begin = max(0, len(line.rstrip()) - 1)
    word = _WORD.match(line, begin)
    end = word.end() if word is not None else min(begin + 1, len(line))
    first = utf16_length(line[:begin])
    return first, first + utf16_length(line[begin:end])
