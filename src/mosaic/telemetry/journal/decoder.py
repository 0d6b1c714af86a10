"""One journal line in, one typed event out, or the reason why there is none.

A journal is written by untrusted code, so `decode` never raises, whatever the bytes are.
Actions and observations stay the raw bytes they were, since nobody here looks into them.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, Raw

from mosaic.contracts.events import EventType

# Deeper values break the recursion limit of whoever reads them later.
MAX_DEPTH = 128
# The largest integer that every JSON reader agrees on.
MAX_COUNT = 2**53 - 1

Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
PositiveCount = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
Integer = Annotated[int, Meta(ge=-MAX_COUNT, le=MAX_COUNT)]
Number = float | Literal["NaN", "Infinity", "-Infinity"]
MetricName = Annotated[str, Meta(max_length=256)]

ABSENT = Raw(b"")


class JournalEvent(msgspec.Struct, tag_field="type", kw_only=True, gc=False):
    seq: Count
    timestamp: float
    run_id: str | None = None
    agent_id: str | None = None
    worker_id: str | None = None


class StepEvent(JournalEvent, tag=EventType.STEP.value, kw_only=True, gc=False):
    episode_index: Integer
    step_index: Integer
    reward: Number
    terminated: bool
    truncated: bool
    action: Raw = ABSENT
    observation: Raw = ABSENT
    episode_seed: int | None = None
    render_hint: Raw = ABSENT
    info: Raw = ABSENT


class EpisodeEvent(JournalEvent, tag=EventType.EPISODE.value, kw_only=True, gc=False):
    episode_index: Integer
    total_reward: Number
    steps: Integer
    terminated: bool
    truncated: bool
    episode_seed: int | None = None
    metadata: Raw = ABSENT


class MetricEvent(JournalEvent, tag=EventType.METRIC.value, kw_only=True, gc=False):
    """One point, or with a `count` the exact summary of several: `value` is their mean, `step`
    that of the last."""

    name: MetricName
    value: Number
    step: Integer
    count: PositiveCount = 1
    low: Number | None = None
    high: Number | None = None
    first: Number | None = None
    last: Number | None = None
    first_step: Integer | None = None


class RegisteredEvent(JournalEvent, tag=EventType.WORKER_REGISTERED.value, kw_only=True, gc=False):
    schema_version: Integer
    protocol: str
    capabilities: dict[str, Any]
    attempt: Count | None = None
    pid: Count | None = None


class LifecycleEvent(JournalEvent, kw_only=True, gc=False):
    payload: dict[str, Any] = {}


def _lifecycle_class(kind: EventType) -> type[LifecycleEvent]:
    """The types without fields of their own differ in nothing but their tag."""
    made = msgspec.defstruct(kind.name, [], bases=(LifecycleEvent,), tag=kind.value, gc=False)
    return cast("type[LifecycleEvent]", made)


EVENT_TYPES: dict[type[JournalEvent], EventType] = {
    StepEvent: EventType.STEP,
    EpisodeEvent: EventType.EPISODE,
    MetricEvent: EventType.METRIC,
    RegisteredEvent: EventType.WORKER_REGISTERED,
}
EVENT_TYPES |= {
    _lifecycle_class(kind): kind for kind in EventType if kind not in EVENT_TYPES.values()
}
_decode_event = msgspec.json.Decoder(cast(Any, functools.reduce(operator.or_, EVENT_TYPES))).decode


class QuarantineReason(StrEnum):
    TOO_LONG = "too_long"
    TOO_DEEP = "too_deep"
    NOT_UTF8 = "not_utf8"
    NOT_JSON = "not_json"
    NOT_AN_EVENT = "not_an_event"  # an unknown type, a missing field, a wrong type of field
    WRONG_RUN = "wrong_run"


@dataclass(frozen=True)
class Rejected:
    reason: QuarantineReason
    detail: str = ""


class EventDecoder:
    """Decodes lines of one run; without a run id, those of any run."""

    def __init__(self, run_id: str | None = None) -> None:
        self._run_id = run_id

    def decode(self, line: bytes) -> JournalEvent | Rejected | None:
        """The event, why it is none, or None for a blank line."""
        # A level costs two bytes, so most lines need no look.
        if len(line) > 2 * MAX_DEPTH and _nests_too_deeply(line):
            return Rejected(QuarantineReason.TOO_DEEP, f"deeper than {MAX_DEPTH} levels")
        try:
            event: JournalEvent = _decode_event(line)
            if not line.isascii():
                line.decode()  # values kept raw have not been looked at
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._second_look(line, error)
        if event.run_id is not None and self._run_id not in (None, event.run_id):
            return Rejected(QuarantineReason.WRONG_RUN, event.run_id[:64])
        return event

    def _second_look(self, line: bytes, error: Exception) -> JournalEvent | Rejected | None:
        if not line or line.isspace():
            return None
        if isinstance(error, msgspec.ValidationError):
            repaired = _with_whole_numbers(line)
            if repaired is not None:
                return self.decode(repaired)
            return Rejected(QuarantineReason.NOT_AN_EVENT, str(error)[:200])
        if isinstance(error, UnicodeDecodeError):
            return Rejected(QuarantineReason.NOT_UTF8, str(error)[:200])
        if isinstance(error, RecursionError):
            return Rejected(QuarantineReason.TOO_DEEP, "too deep to decode")
        return Rejected(QuarantineReason.NOT_JSON, str(error)[:200])


# The closing quote is optional so that a string without one is passed over in a single stride.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = {**dict.fromkeys(b"[{", 1), **dict.fromkeys(b"]}", -1)}


def _nests_too_deeply(line: bytes) -> bool:
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", line).translate(None, _NO_BRACKETS)
    depths = itertools.accumulate(map(_LEVELS.__getitem__, brackets))
    return max(depths, default=0) > MAX_DEPTH


_WHOLE_NUMBER_FIELDS = (
    *("seq", "episode_index", "step_index", "episode_seed", "steps", "step"),
    *("schema_version", "attempt", "pid", "count", "first_step"),
)


def _with_whole_numbers(line: bytes) -> bytes | None:
    """The line with 3.0 written as 3 where an integer belongs; None when that changes nothing.

    JSON Schema calls 3.0 an integer, and writers whose only numbers are floats send it.
    """
    try:
        data = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    whole = {
        name: int(data[name])
        for name in _WHOLE_NUMBER_FIELDS
        if isinstance(data.get(name), float) and data[name].is_integer()
    }
    try:
        return msgspec.json.encode({**data, **whole}) if whole else None
    except OverflowError:  # an integer beyond 64 bits somewhere
        return None
