"""Which parts of a line of AgentSpeak are coloured, and as what."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

# A line that is longer is nothing that a person reads; it is shown without colours.
LONGEST_LINE = 2_000


class Part(StrEnum):
    COMMENT = "comment"
    STRING = "string"
    NUMBER = "number"
    WORD = "word"  # of the language
    VARIABLE = "variable"
    ACTION = "action"
    LABEL = "label"  # of a plan
    SIGN = "sign"  # what happens: goals, beliefs, the arrow


class Span(NamedTuple):
    begin: int
    end: int
    part: Part


_WORDS = "true|false|not|div|mod|if|else|while|for|include|begin|end"
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<comment>//.*|\#.*)",
            r"(?P<opening>/\*)",
            r'(?P<string>"(?:[^"\\]|\\.)*(?:"|$))',
            rf"(?P<word>\b(?:{_WORDS})\b)",
            r"(?P<label>@[A-Za-z_]\w*)",
            r"(?P<action>\.[a-z]\w*)",
            r"(?P<variable>\b_*[A-Z]\w*|\b_+\b)",
            r"(?P<number>\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)",
            r"(?P<name>\b[a-z]\w*(?:\.[a-z]\w*)*)",  # nothing in it is something else
            r"(?P<sign><-|:-|!!|!|\?|-\+|[+-](?=[!?]?[a-z~]))",
        )
    )
)
_PARTS = {part.value: part for part in Part}


def spans_of(line: str, is_in_comment: bool = False) -> tuple[list[Span], bool]:
    """And whether the line ends within a comment of several lines."""
    found: list[Span] = []
    if len(line) > LONGEST_LINE:
        return found, is_in_comment
    begin = place = 0
    while True:
        if is_in_comment:
            end = line.find("*/", place)
            place = len(line) if end < 0 else end + 2
            found.append(Span(begin, place, Part.COMMENT))
            if end < 0:
                return found, True
        match = _TOKEN.search(line, place)
        if match is None:
            return found, False
        kind, begin, place = match.lastgroup or "", match.start(), match.end()
        is_in_comment = kind == "opening"
        if kind in _PARTS:
            found.append(Span(begin, place, _PARTS[kind]))
