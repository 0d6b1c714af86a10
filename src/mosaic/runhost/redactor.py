"""Masks secret values in a stream of bytes, also when a value is split across two reads."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable

from mosaic.contracts.secret_text import secret_spellings

MASK = b"***"
# From this many on, checking the words of a text is cheaper than searching for each secret.
_MANY_PATTERNS = 64
# This much of a text is compared with all patterns at once; few texts match further.
_HEAD_BYTES = 4


def secret_patterns(values: Iterable[str]) -> tuple[bytes, ...]:
    """What to look for: each value in all its spellings."""
    patterns: set[bytes] = set()
    for value in values:
        patterns.update(_encoded(spelling) for spelling in secret_spellings(value))
    return tuple(sorted(patterns - {b""}))


def _encoded(text: str) -> bytes:
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return b""  # no process can be given such a value, so none can print it


class Redactor:
    """Feed it chunks and write out what it returns; at the end write out `flush()`."""

    def __init__(self, patterns: tuple[bytes, ...]) -> None:
        self._patterns = patterns
        self._sorted = sorted(patterns)
        self._heads = {
            pattern[:length] for pattern in patterns for length in range(1, _HEAD_BYTES + 1)
        }
        self._longest = max(map(len, patterns), default=0)
        self._has_newline = any(b"\n" in pattern for pattern in patterns)
        # Those with a space in them; the others cannot occur where every word is too short.
        self._spaced = tuple(pattern for pattern in patterns if pattern.split() != [pattern])
        self._shortest_word = min(map(len, set(patterns) - set(self._spaced)), default=0)
        # The end of the stream so far that may turn out to be the beginning of a secret …
        self._held = b""
        # … and how much of it belongs to a secret that was already written as a mask.
        self._masked = 0

    def feed(self, chunk: bytes) -> bytes:
        if not self._patterns:
            return chunk
        data = self._held + chunk
        return self._emit(data, self._undecided_from(data))

    def flush(self) -> bytes:
        return self._emit(self._held, len(self._held))

    def _emit(self, data: bytes, end: int) -> bytes:
        """The redacted data up to `end`; the rest is held."""
        pieces: list[bytes] = []
        position = masked = 0
        for start, stop in self._secret_spans(data):
            if start >= end:
                break
            pieces.append(data[position:start])
            if start > 0 or self._masked == 0:
                pieces.append(MASK)
            position = min(stop, end)
            masked = max(0, stop - end)
        pieces.append(data[position:end])
        self._held, self._masked = data[end:], masked
        return b"".join(pieces)

    def _secret_spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets are; overlapping ones are merged, so that no piece of either shows."""
        found = [(0, self._masked)] if self._masked else []
        for pattern in self._possible_patterns(data):
            start = data.find(pattern)
            while start >= 0:
                found.append((start, start + len(pattern)))
                start = data.find(pattern, start + 1)
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(found):
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return merged

    def _possible_patterns(self, data: bytes) -> tuple[bytes, ...]:
        if len(self._patterns) < _MANY_PATTERNS:
            return self._patterns
        longest = max(map(len, data.split()), default=0)
        return self._patterns if longest >= self._shortest_word else self._spaced

    def _undecided_from(self, data: bytes) -> int:
        """The first position whose bytes up to the end could be the beginning of a secret."""
        if data.endswith(b"\n") and not self._has_newline:
            return len(data)  # whole lines, as most output comes
        for start in range(max(0, len(data) - self._longest + 1), len(data)):
            is_likely = data[start : start + _HEAD_BYTES] in self._heads
            if is_likely and self._is_beginning(data[start:]):
                return start
        return len(data)

    def _is_beginning(self, text: bytes) -> bool:
        """Whether a pattern begins with this and continues."""
        # Of all that come after a text in their order, those that begin with it come first.
        place = bisect_right(self._sorted, text)
        return place < len(self._sorted) and self._sorted[place].startswith(text)


def mask_in_place(data: bytes, patterns: tuple[bytes, ...]) -> bytes:
    """Whole lines with an asterisk for each byte of a secret: offsets in them stay the same."""
    for pattern in sorted(patterns, key=len, reverse=True):
        data = data.replace(pattern, b"*" * len(pattern))
    return data


def redact(text: str, patterns: tuple[bytes, ...]) -> str:
    """The same for a text that is there as a whole."""
    redactor = Redactor(patterns)
    data = text.encode(errors="replace")
    return (redactor.feed(data) + redactor.flush()).decode(errors="replace")
