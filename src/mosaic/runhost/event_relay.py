"""Turns the JSON lines a worker prints into journal lines; everything else is only log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from mosaic.contracts.events import LIFECYCLE_TYPES, EventType, finite_json

_TYPES = frozenset(member.value for member in EventType)
# Lifecycle events keep what belongs to them in `payload`; these have it at the top.
_FLAT_TYPES = _TYPES - LIFECYCLE_TYPES | {EventType.WORKER_REGISTERED.value}
# The largest integer every JSON reader and SQLite hold exactly.
_MAX_SEQ = 2**53
# Made once, not per line as `json.dumps` with these options would.
_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class EventRelay:
    def __init__(self, last_seq: int, clock: Callable[[], float] = time.time) -> None:
        self._last_seq = last_seq
        self._clock = clock
        self.steps = 0

    def translate(self, line: bytes) -> bytes | None:
        """The journal line (with newline) for a printed line, or None when it is no event."""
        # Most output of most workers is text; do not parse it.
        if not line.lstrip().startswith(b"{"):
            return None
        try:
            event = _decode(line.decode())
            if not _adopt_type(event):
                return None
            event["seq"] = seq = self._next_seq(event.get("seq"))
            if not _is_number(event.get("timestamp")):
                event["timestamp"] = self._clock()
            text = _strict_json(event)
        except (ValueError, RecursionError):
            return None
        self._last_seq = seq
        self.steps += event["type"] == EventType.STEP.value
        return text.encode() + b"\n"

    def _next_seq(self, own: Any) -> int:
        """The worker's own number while it counts up: a gap then tells of a lost line."""
        is_count = isinstance(own, int) and not isinstance(own, bool)
        return own if is_count and self._last_seq < own <= _MAX_SEQ else self._last_seq + 1


def _adopt_type(event: Any) -> bool:
    """Give the event its `type`, also when it came as `event` with `payload`; false if unknown."""
    if not isinstance(event, dict):
        return False
    if "type" in event:
        return isinstance(event["type"], str) and event["type"] in _TYPES
    name = event.get("event")
    if not isinstance(name, str) or name not in _TYPES:
        return False
    event["type"] = event.pop("event")
    if name in _FLAT_TYPES and isinstance(event.get("payload"), dict):
        for key, value in event.pop("payload").items():
            event.setdefault(key, value)
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0


def _strict_json(event: dict[str, Any]) -> str:
    try:
        return _encode(event)
    except ValueError:
        return _encode(finite_json(event))
