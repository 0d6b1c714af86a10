"""What one subscriber gets of one run: pages in, deliveries out. Pure: no file, no socket.

Each sample costs a credit of the balance, which all runs of a subscriber share. When it is empty,
the run is starved: lifecycle events still pass, samples are held back. With new credits it resumes,
and of what was held back only the newest of each kind is delivered and the rest is declared
coalesced, with exact numbers. A lossless flow goes back and reads them all instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mosaic.contracts.events import EventType
from mosaic.contracts.runbus import ControlKind
from mosaic.telemetry.event_page import EventKind, EventPage

_TYPES = (EventType.STEP, EventType.EPISODE, EventType.METRIC)
# A worker may invent any number of names, and write lines of a megabyte.
MAX_KINDS = 1000
MAX_BYTES = 256 * 1024


class HeldSample(NamedTuple):
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
        self._newest: dict[EventKind, HeldSample] = {}
        self._size = 0

    def add(self, kind: EventKind, cursor: int, line: bytes) -> None:
        before = self._newest.pop(kind, None)
        if before is not None:
            self._size -= len(before.line)
        self._newest[kind] = HeldSample(cursor, line, tuple(self._seen))
        self._size += len(line)
        self._seen[_TYPES.index(kind.type)] += 1
        while len(self._newest) > MAX_KINDS or (self._size > MAX_BYTES and len(self._newest) > 1):
            oldest = self._newest.pop(next(iter(self._newest)))
            self._size -= len(oldest.line)

    @property
    def kinds(self) -> int:
        return len(self._newest)

    def settle(self, credits: int) -> Settlement:
        """Hand out the held samples, oldest first, as far as the credits reach.

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


@dataclass(frozen=True)
class Control:
    kind: ControlKind
    from_cursor: int
    coalesced: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivery:
    """Everything before `next_cursor` has been delivered with it, or was declared coalesced."""

    lines: Sequence[bytes]
    next_cursor: int
    control: Control | None = None


class CreditBalance:
    """The credits of one subscriber."""

    def __init__(self, credits: int = 0) -> None:
        self.credits = credits

    def add(self, credits: int) -> None:
        self.credits += credits

    def draw(self, wanted: int) -> int:
        drawn = min(wanted, self.credits)
        self.credits -= drawn
        return drawn


class RunFlow:
    """Ask `resume` first, then `take` the page at `position`, again and again."""

    def __init__(
        self,
        cursor: int,
        balance: CreditBalance,
        types: frozenset[str] = frozenset(),
        lossless: bool = False,
    ) -> None:
        self.is_starved = False
        self._balance = balance
        self._types = types
        # None: nothing is ever coalesced.
        self._held = None if lossless else HeldSamples()
        # Everything before this was delivered or declared coalesced.
        self._settled = cursor
        # Lifecycle events before this were delivered. Ahead of the other while starved.
        self._reached = cursor

    @property
    def position(self) -> int:
        """Where the next page must begin, or what it must hold."""
        return self._reached if self.is_starved else self._settled

    def resume(self) -> list[Delivery]:
        """What new credits bring."""
        if not self.is_starved or not self._balance.credits:
            return []
        began = self._settled
        if self._held is None:
            self.is_starved = False
            return [Delivery((), began, Control(ControlKind.RESUMED, began))]
        lines, coalesced, held_from = self._held.settle(self._balance.draw(self._held.kinds))
        self._settled = self._reached if held_from is None else held_from
        # In one message: a client that lost the second of two could not tell what it misses.
        resumed = Control(ControlKind.RESUMED, began, coalesced)
        deliveries = [Delivery(lines, self._settled, resumed)]
        self.is_starved = held_from is not None
        if self.is_starved:
            deliveries.append(self._starved())
        return deliveries

    def take(self, page: EventPage) -> list[Delivery]:
        """Deliver what the credits allow of a page; it counts from `position` on."""
        first = bisect_left(page.cursors, self.position)
        if self._can_pass(page, first):
            self._balance.draw(page.samples)
            self._settled = self._reached = page.next_cursor
            return [Delivery(page.lines, page.next_cursor)] if page.lines else []
        return self._pick(page, first)

    def end(self) -> Delivery:
        """There will be no more pages. Not while starved: then something is still held back."""
        return Delivery((), self._settled, Control(ControlKind.ENDED, self._settled))

    def _can_pass(self, page: EventPage, first: int) -> bool:
        """Whether the whole page goes out as it is, which is what nearly always happens."""
        is_in_step = not self.is_starved and self._settled == self._reached
        is_whole = first == 0 and not self._types
        return is_in_step and is_whole and page.samples <= self._balance.credits

    def _pick(self, page: EventPage, first: int) -> list[Delivery]:
        deliveries: list[Delivery] = []
        lines: list[bytes] = []
        for index in range(first, len(page.lines)):
            kind, line, cursor = page.kinds[index], page.lines[index], page.cursors[index]
            if self._types and kind.type not in self._types:
                continue
            if kind.subject is None:
                if cursor >= self._reached:
                    lines.append(line)
                continue
            if not self.is_starved:
                if self._balance.draw(1):
                    lines.append(line)
                    continue
                self.is_starved = True
                self._settled = cursor
                if lines:
                    deliveries.append(Delivery(lines, cursor))
                    lines = []
                deliveries.append(self._starved())
            if self._held is not None:
                self._held.add(kind, cursor, line)
        self._reached = max(self._reached, page.next_cursor)
        if not self.is_starved:
            self._settled = page.next_cursor
        if lines:
            deliveries.append(Delivery(lines, self._settled))
        return deliveries

    def _starved(self) -> Delivery:
        return Delivery((), self._settled, Control(ControlKind.STARVED, self._settled))
