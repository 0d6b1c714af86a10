"""Messages that survive the death of a server: numbered, acknowledged, sent again, bounded.

XMPP promises nothing about a message that a server had when it was killed. So every sender numbers
its messages to each peer, keeps them until the peer has said that it has them, and sends what is
missing again, in order. The peer takes each number once. Both sides keep a bounded amount: what a
full inbox refuses is not acknowledged and comes again; what a full outbox refuses is counted.
"""

from __future__ import annotations

import secrets
from collections import deque
from dataclasses import dataclass, field
from enum import Enum

MAX_BODY_BYTES = 65_536
MAX_UNACKNOWLEDGED = 500
WINDOW = 32  # so many unacknowledged messages are on the wire at once
MAX_WAITING = 200
MAX_WAITING_BYTES = 1_048_576
RESEND_S = (1.0, 2.0, 4.0, 8.0)
_MAX_RETIRED = 64


@dataclass(frozen=True)
class Envelope:
    """One message with what its delivery needs."""

    performative: str
    body: str
    session: str
    number: int
    # The lowest number the sender still keeps: where somebody begins who was not there before.
    base: int


@dataclass
class Outbox:
    """Messages from here to one peer."""

    session: str = field(default_factory=lambda: secrets.token_hex(6))
    refused: int = 0
    _kept: deque[tuple[int, str, str]] = field(default_factory=deque)
    _next: int = 1
    _sent_to: int = 0  # the highest number that was on the wire since the last resend
    _sent_at: float = 0.0
    _attempts: int = 0

    def put(self, performative: str, body: str) -> bool:
        """Whether there was room."""
        if len(self._kept) >= MAX_UNACKNOWLEDGED:
            self.refused += 1
            return False
        self._kept.append((self._next, performative, body))
        self._next += 1
        return True

    def to_send(self, now: float) -> list[Envelope]:
        """What belongs on the wire now: what is new, or all that is overdue."""
        if not self._kept:
            return []
        base = self._kept[0][0]
        if base <= self._sent_to and now >= self.due_at():
            self._sent_to = base - 1
            self._attempts = min(self._attempts + 1, len(RESEND_S) - 1)
        envelopes = [
            Envelope(performative, body, self.session, number, base)
            for number, performative, body in list(self._kept)[:WINDOW]
            if number > self._sent_to
        ]
        if envelopes:
            self._sent_to, self._sent_at = envelopes[-1].number, now
        return envelopes

    def due_at(self) -> float:
        """When what is unacknowledged is sent again."""
        return self._sent_at + RESEND_S[self._attempts]

    def acknowledge(self, session: str, number: int) -> None:
        if session != self.session:
            return
        while self._kept and self._kept[0][0] <= number:
            self._kept.popleft()
            self._attempts = 0

    def start_again(self) -> None:
        """The connection is a new one: what was on the wire may be lost."""
        self._sent_to = self._kept[0][0] - 1 if self._kept else self._next - 1
        self._attempts = 0

    @property
    def unacknowledged(self) -> int:
        return len(self._kept)


class Verdict(Enum):
    """What an inbox made of an envelope."""

    TAKEN = "taken"
    KNOWN = "known"  # it was taken before; say so again
    EARLY = "early"  # one before it is missing; it comes again
    FULL = "full"
    STALE = "stale"  # of a sender that has started anew since
    TOO_LONG = "too long"


@dataclass
class _Stream:
    session: str
    taken: int
    retired: deque[str] = field(default_factory=lambda: deque(maxlen=_MAX_RETIRED))


@dataclass
class Inbox:
    """Messages to here from all peers, each once and in the order of its sender."""

    refused: int = 0  # while it was full
    _waiting: deque[tuple[str, Envelope]] = field(default_factory=deque)
    _bytes: int = 0
    _streams: dict[str, _Stream] = field(default_factory=dict)

    def offer(self, sender: str, envelope: Envelope) -> Verdict:
        size = len(envelope.body.encode())
        if size > MAX_BODY_BYTES:
            return Verdict.TOO_LONG
        stream = self._streams.get(sender)
        if stream is None or stream.session != envelope.session:
            if stream is not None and envelope.session in stream.retired:
                return Verdict.STALE
            if envelope.number != envelope.base:
                return Verdict.EARLY
            known = stream.retired if stream is not None else deque(maxlen=_MAX_RETIRED)
            if stream is not None:
                known.append(stream.session)
            stream = _Stream(envelope.session, envelope.number - 1, known)
        if envelope.number <= stream.taken:
            return Verdict.KNOWN
        if envelope.number > stream.taken + 1:
            return Verdict.EARLY
        if len(self._waiting) >= MAX_WAITING or self._bytes + size > MAX_WAITING_BYTES:
            self.refused += 1
            return Verdict.FULL
        stream.taken = envelope.number
        self._streams[sender] = stream
        self._waiting.append((sender, envelope))
        self._bytes += size
        return Verdict.TAKEN

    def taken(self, sender: str) -> tuple[str, int]:
        """Session and number of the last message taken from this sender."""
        stream = self._streams[sender]
        return stream.session, stream.taken

    def take(self) -> tuple[str, Envelope] | None:
        """The next message, if there is one."""
        if not self._waiting:
            return None
        sender, envelope = self._waiting.popleft()
        self._bytes -= len(envelope.body.encode())
        return sender, envelope

    def __len__(self) -> int:
        return len(self._waiting)
