"""Samples a subscriber had no credit for: counted all, and the newest of each kind kept."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from mosaic.contracts.events import EventType
from mosaic.telemetry.event_page import Kind

_TYPES = (EventType.STEP, EventType.EPISODE, EventType.METRIC)
# A worker may make up names without end, and lines of a megabyte.
MAX_KINDS = 1000
MAX_BYTES = 256 * 1024


class Kept(NamedTuple):
    cursor: int
    line: bytes
    # Samples of each type before this one, since the stretch began.
    seen_before: tuple[int, ...]


class Settlement(NamedTuple):
    lines: list[bytes]
    coalesced: dict[str, int]
    # The oldest sample that is still held; None when none is.
    held_from: int | None


class HeldSamples:
    def __init__(self) -> None:
        self._seen = [0] * len(_TYPES)
        self._declared: tuple[int, ...] = tuple(self._seen)
        # In order of their cursors: a newer sample goes to the end.
        self._newest: dict[Kind, Kept] = {}
        self._size = 0

    def add(self, kind: Kind, cursor: int, line: bytes) -> None:
        before = self._newest.pop(kind, None)
        if before is not None:
            self._size -= len(before.line)
        self._newest[kind] = Kept(cursor, line, tuple(self._seen))
        self._size += len(line)
        self._seen[_TYPES.index(kind.type)] += 1
        while len(self._newest) > MAX_KINDS or (self._size > MAX_BYTES and len(self._newest) > 1):
            oldest = self._newest.pop(next(iter(self._newest)))
            self._size -= len(oldest.line)

    @property
    def kinds(self) -> int:
        return len(self._newest)

    def settle(self, credits: int) -> Settlement:
        """Give out the kept samples, oldest first, as far as the credits reach.

        What lies before the first one that stays is settled with that: sent, or coalesced for
        good. So one cursor always divides what is settled from what is not.
        """
        kept = list(self._newest.items())
        sent, rest = kept[:credits], kept[credits:]
        reached = rest[0][1].seen_before if rest else tuple(self._seen)
        sent_types = Counter(kind.type for kind, _ in sent)
        counts = zip(_TYPES, reached, self._declared, strict=True)
        coalesced = {kind.value: now - then - sent_types[kind] for kind, now, then in counts}
        self._declared = reached
        self._newest = dict(rest)
        self._size = sum(len(item.line) for item in self._newest.values())
        return Settlement(
            [item.line for _, item in sent],
            {name: count for name, count in coalesced.items() if count},
            rest[0][1].cursor if rest else None,
        )
