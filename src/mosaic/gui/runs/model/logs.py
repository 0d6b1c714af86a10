"""LogLines: the last lines a run has written. LogQuery: what somebody looks for in them."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mosaic.front.human import count

MOST_LINES = 5_000
MOST_CHARACTERS = 2_000
STDERR = "stderr"
# Colours, movements of the cursor, titles of windows: everything a terminal would obey.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)
_PLAIN = re.compile(r"[ -~]*")
_TAB = " " * 4


class LogLine(NamedTuple):
    stream: str
    text: str


class LogLines:
    """Keeps the newest lines; what came too fast to be read is counted, not processed."""

    def __init__(self, most_lines: int = MOST_LINES) -> None:
        self.lines: deque[LogLine] = deque(maxlen=most_lines)
        self.dropped = 0  # earlier lines that arrived and are not kept any more
        self._rests: dict[str, bytes] = {}

    def feed(self, stream: str, data: bytes) -> list[LogLine]:
        """What is new in it, at most as much as is kept."""
        whole = self._rests.get(stream, b"") + data
        pieces = whole.split(b"\n")
        self._rests[stream] = _tail_of(pieces.pop())
        return self._keep(stream, pieces)

    def finish(self) -> list[LogLine]:
        """The run is over: what has no end of line is a line, too."""
        rests = [(stream, rest) for stream, rest in self._rests.items() if rest]
        self._rests.clear()
        return [line for stream, rest in rests for line in self._keep(stream, [rest])]

    def clear(self) -> None:
        self.lines.clear()
        self._rests.clear()
        self.dropped = 0

    def _keep(self, stream: str, pieces: list[bytes]) -> list[LogLine]:
        most = self.lines.maxlen or MOST_LINES
        skipped = max(0, len(pieces) - most)
        added = [LogLine(stream, printable_line(piece)) for piece in pieces[skipped:]]
        self.dropped += skipped + max(0, len(self.lines) + len(added) - most)
        self.lines.extend(added)
        return added


def printable_line(line: bytes) -> str:
    """One line as it is shown: without what steers terminals, and not endless."""
    # A progress bar writes over itself: only its last word counts.
    last = line.rstrip(b"\r").rpartition(b"\r")[2] or line
    cut = max(0, len(last) - 4 * MOST_CHARACTERS)
    text = printable(last[: 4 * MOST_CHARACTERS].decode(errors="replace"))
    if len(text) > MOST_CHARACTERS or cut:
        over = cut + max(0, len(text) - MOST_CHARACTERS)
        return f"{text[:MOST_CHARACTERS]} … {count(over)} more characters"
    return text


def printable(text: str) -> str:
    """Nothing in it that is invisible, or that changes how the rest is read."""
    if _PLAIN.fullmatch(text):
        return text
    bare = _ESCAPES.sub("", text).replace("\t", _TAB)
    return "".join(c if c.isprintable() else _visible(c) for c in bare)


def matching(lines: Iterable[LogLine], text: str, stream: str) -> list[LogLine]:
    """Those of the stream ("" for both) that have the text, in whichever case."""
    wanted = text.casefold()
    return [
        line
        for line in lines
        if (not stream or line.stream == stream) and (not wanted or wanted in line.text.casefold())
    ]


def cut_text(dropped: int, is_tail: bool) -> str:
    """What is said above the first line that is shown; `is_tail`: reading began further down."""
    if dropped:
        more = "more than " if is_tail else ""
        return f"… {more}{count(dropped)} earlier lines"
    return "… earlier lines" if is_tail else ""


def _visible(c: str) -> str:
    if c == "\N{NO-BREAK SPACE}" or unicodedata.category(c) == "Zs":
        return " "
    if ord(c) < 0x20:
        return chr(0x2400 + ord(c))
    if c == "\x7f":
        return "\u2421"
    return "\N{REPLACEMENT CHARACTER}"


def _tail_of(rest: bytes) -> bytes:
    """A line that never ends must not fill the memory."""
    most = 16 * MOST_CHARACTERS
    return rest if len(rest) <= most else rest[:most]


@dataclass(frozen=True)
class LogQuery:
    """Expressions are left to the daemon, which gives up on those that would never end."""

    text: str = ""
    is_regex: bool = False
    problem: str = ""

    @classmethod
    def parse(cls, typed: str) -> LogQuery:
        text = typed.strip()
        if not text.startswith("/") or len(text) < 2:
            return cls(text)
        is_closed = text.endswith("/")
        pattern = text[1:-1] if is_closed else text[1:]
        # A path begins with a slash, too: it is an expression only once it is closed.
        if not is_closed:
            return cls(text)
        if not pattern:
            return cls()
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            return cls(pattern, True, f"This is no regular expression: {error}")
        return cls(pattern, True)

    @property
    def is_empty(self) -> bool:
        return not self.text

    @property
    def is_local(self) -> bool:
        """Whether the lines at hand can be looked through while it is typed."""
        return not self.is_regex
