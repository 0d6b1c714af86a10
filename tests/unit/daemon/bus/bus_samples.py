"""Pages of made-up events, and the account every subscriber must be able to draw up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from mosaic.contracts.events import SAMPLE_TYPES, EventType
from mosaic.daemon.bus.flow import Delivery
from mosaic.telemetry.event_page import EventKind, EventPage

STEP = EventKind(EventType.STEP, "agent")
OTHER_STEP = EventKind(EventType.STEP, "other")
EPISODE = EventKind(EventType.EPISODE, "agent")
LOSS = EventKind(EventType.METRIC, "loss")
REWARD = EventKind(EventType.METRIC, "reward")
HEARTBEAT = EventKind(EventType.HEARTBEAT)
SAVED = EventKind(EventType.CHECKPOINT_SAVED)
KINDS = (STEP, OTHER_STEP, EPISODE, LOSS, REWARD, HEARTBEAT, SAVED)
WIDTH = 10


def page(first: int, kinds: Sequence[EventKind]) -> EventPage:
    """Events number `first`, `first` + 1, …; the line of each is `type subject number`."""
    numbers = range(first, first + len(kinds))
    return EventPage(
        first * WIDTH,
        (first + len(kinds)) * WIDTH,
        [number * WIDTH for number in numbers],
        [line(kind, number) for kind, number in zip(kinds, numbers, strict=True)],
        list(kinds),
    )


def line(kind: EventKind, number: int) -> bytes:
    return f"{kind.type} {kind.subject} {number}".encode()


class Account:
    """What a subscriber was given, as it adds up itself."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.coalesced: Counter[str] = Counter()
        self.controls: list[str] = []
        self.cursor = 0

    def book(self, deliveries: Iterable[Delivery]) -> int:
        """Returns how many samples these deliveries carried."""
        samples = 0
        for delivery in deliveries:
            assert delivery.next_cursor >= self.cursor, "a cursor never goes back"
            self.cursor = delivery.next_cursor
            if delivery.control is not None:
                self.controls.append(delivery.control.kind)
                self.coalesced.update(delivery.control.coalesced)
            self.lines += delivery.lines
            samples += sum(is_sample(each) for each in delivery.lines)
        return samples

    @property
    def delivered(self) -> Counter[str]:
        return Counter(type_of(each) for each in self.lines)

    @property
    def samples(self) -> list[bytes]:
        return [each for each in self.lines if is_sample(each)]

    @property
    def lifecycle(self) -> list[bytes]:
        return [each for each in self.lines if not is_sample(each)]


def type_of(text: bytes) -> str:
    return text.split()[0].decode()


def is_sample(text: bytes) -> bool:
    return type_of(text) in SAMPLE_TYPES


def number_of(text: bytes) -> int:
    return int(text.split()[-1])
