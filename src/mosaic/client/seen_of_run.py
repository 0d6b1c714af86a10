"""What a subscriber has seen of one run, so that a new connection repeats nothing."""

from __future__ import annotations

from mosaic.contracts.runbus import ControlKind
from mosaic.wire.bus import BusNotice


class SeenOfRun:
    """While samples are held back, lifecycle events come ahead of the cursor. Whoever goes on from
    that cursor after a lost connection is sent them once more."""

    def __init__(self) -> None:
        self._is_starved = False
        self._has_ended = False
        # Lines ahead of the cursor, from this connection and from those before it.
        self._ahead: set[bytes] = set()
        self._repeated: set[bytes] = set()

    def begin_again(self) -> None:
        """The connection was lost."""
        self._is_starved = False
        self._repeated |= self._ahead
        self._ahead.clear()

    def news(self, notice: BusNotice | None) -> BusNotice | None:
        """The notice, unless it was given before."""
        if notice is None:
            return None
        self._is_starved = notice.kind is ControlKind.STARVED
        if notice.kind is ControlKind.ENDED:
            if self._has_ended:
                return None
            self._has_ended = True
        return notice

    def new_lines(self, lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Of lines that came with or after the latest notice, those not seen before."""
        if self._is_starved:
            self._ahead.update(lines)
        if self._repeated:
            known = self._repeated.intersection(lines)
            self._repeated -= known
            return tuple(line for line in lines if line not in known)
        return lines

    def catch_up(self) -> None:
        """The cursor has passed everything that came ahead of it on this connection."""
        if not self._is_starved:
            self._ahead.clear()
