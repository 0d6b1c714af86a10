"""Finds text in logs, line by line, in bounded memory.

Of a line only the first MAX_LINE_BYTES are looked at. A regular expression may take forever on a
line, and no other thread runs until then: it belongs in a process that can be killed, such as
`log_search_process`.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from mosaic.errors import RequestError
from mosaic.foreign.files import open_regular


def log_files(path: Path) -> list[Path]:
    """Oldest first; the last one is `path` itself, whether it exists or not."""
    found_here = path.parent.glob(f"{path.name}.*")
    rotated = [found for found in found_here if re.fullmatch(r"\.[0-9]{1,9}", found.suffix)]
    rotated.sort(key=lambda found: -int(found.suffix[1:]))
    return [*rotated, path]


MAX_LINE_BYTES = 65_536
MAX_TEXT = 1000
BLOCK_BYTES = 262_144
# Of a longer line only what is around the match is shown.
MAX_SHOWN = 2000
_SHOWN_BEFORE = 200


class Matcher(Protocol):
    def may_match(self, block: bytes) -> bool:
        """False when no line of the block can match; quicker than asking for each."""

    def find(self, line: bytes) -> int | None:
        """About where in the line it is."""


class FoundLine(NamedTuple):
    log: int  # which of the logs that were searched
    line_number: int  # from 1, over all files of the log that are kept
    line: str


def matcher(text: str, is_regex: bool, ignore_case: bool) -> Matcher:
    """Raises RequestError when this is nothing to look for."""
    if not text:
        raise RequestError("There is no text to search for", field="text")
    if len(text) > MAX_TEXT:
        raise RequestError(f"A text of {len(text):,} characters is too long", field="text")
    if not is_regex and ("\n" in text or "\r" in text):
        raise RequestError(
            "The text holds a line break, and lines are searched one by one", field="text"
        )
    if is_regex:
        return _Pattern(text, ignore_case)
    return _FoldedText(text) if ignore_case else _PlainText(text)


class _PlainText:
    def __init__(self, text: str) -> None:
        self._text = text.encode(errors="surrogateescape")

    def may_match(self, block: bytes) -> bool:
        return self._text in block

    def find(self, line: bytes) -> int | None:
        place = line.find(self._text)
        return None if place < 0 else place


class _FoldedText:
    def __init__(self, text: str) -> None:
        self._text = text.casefold()

    def may_match(self, block: bytes) -> bool:
        return self._text in _decoded(block).casefold()

    def find(self, line: bytes) -> int | None:
        place = _decoded(line).casefold().find(self._text)
        return None if place < 0 else place


class _Pattern:
    def __init__(self, text: str, ignore_case: bool) -> None:
        try:
            self._pattern = re.compile(text, re.IGNORECASE if ignore_case else 0)
        except (re.error, RecursionError, OverflowError, MemoryError) as error:
            raise RequestError(
                f"This is no regular expression: {error or type(error).__name__}",
                hint="without --regex the text is taken as it is",
                field="text",
            ) from error

    def may_match(self, block: bytes) -> bool:
        return True

    def find(self, line: bytes) -> int | None:
        match = self._pattern.search(_decoded(line))
        return None if match is None else match.start()


def search_logs(
    logs: Sequence[Path], wanted: Matcher, limit: int, on_block: Callable[[int], None]
) -> Iterator[FoundLine]:
    """At most `limit` lines, log by log. `on_block` is told again and again which log it is at."""
    found = _found(logs, wanted, on_block)
    for _ in range(limit):
        match = next(found, None)
        if match is None:
            return
        yield match


def _found(
    logs: Sequence[Path], wanted: Matcher, on_block: Callable[[int], None]
) -> Iterator[FoundLine]:
    for index, log in enumerate(logs):
        before = 0
        for block in blocks(log):
            on_block(index)
            if wanted.may_match(block):
                lines = block.removesuffix(b"\n").split(b"\n")
                for number, line in enumerate(lines, before + 1):
                    line = line[:MAX_LINE_BYTES].removesuffix(b"\r")
                    place = wanted.find(line)
                    if place is not None:
                        yield FoundLine(index, number, excerpt(_decoded(line), place))
            before += block.count(b"\n")


def blocks(log: Path, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Whole lines of all files of a log; of a line that is longer than a block, its beginning."""
    with contextlib.ExitStack() as stack:
        # All are opened first: a rotation meanwhile changes names, not what is read.
        for fd in [_opened(path, stack) for path in log_files(log)]:
            if fd is not None:
                yield from _blocks(fd, block_bytes)


def _blocks(fd: int, block_bytes: int) -> Iterator[bytes]:
    rest = b""
    while data := os.read(fd, block_bytes):
        end = data.rfind(b"\n") + 1
        if end:
            yield rest + data[:end]
            rest = b""
        rest = (rest + data[end:])[:MAX_LINE_BYTES]
    if rest:
        yield rest + b"\n"


def _opened(path: Path, stack: contextlib.ExitStack) -> int | None:
    """None when there is no such file, or it is not a plain one, which could block us."""
    try:
        fd = open_regular(path, follow_links=False)
    except OSError:
        return None
    stack.callback(os.close, fd)
    return fd


def excerpt(line: str, place: int) -> str:
    if len(line) <= MAX_SHOWN:
        return line
    start = max(0, min(place - _SHOWN_BEFORE, len(line) - MAX_SHOWN))
    end = start + MAX_SHOWN
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
