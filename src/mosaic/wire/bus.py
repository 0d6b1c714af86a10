"""What comes over the bus, as plain Python values for clients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mosaic.contracts.events import SAMPLE_TYPES
from mosaic.contracts.runbus import ControlKind, RunBusAttribute, RunBusName, bus_record
from mosaic.wire.generated import trainer_pb2 as pb


@dataclass(frozen=True)
class BusBatch:
    """Events of one run, as lines of its journal; going on from `next_cursor` misses nothing."""

    run_id: str
    lines: tuple[bytes, ...]
    next_cursor: int

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def records(self) -> list[tuple[RunBusName, dict[str, Any]]]:
        """The events under their names on the bus; see `contracts.runbus.bus_record`."""
        return [bus_record(self.run_id, event) for event in self.events()]


@dataclass(frozen=True)
class BusNotice:
    """What the bus says about a run: STARVED, RESUMED or ENDED."""

    kind: ControlKind
    run_id: str
    from_cursor: int
    next_cursor: int
    # With RESUMED: how many samples were left out, by type of event.
    coalesced: Mapping[str, int] = field(default_factory=dict)

    def record(self) -> tuple[RunBusName, dict[str, Any]]:
        """As `contracts.runbus.bus_record` has it for events."""
        return RunBusName.CONTROL, {
            RunBusAttribute.RUN_ID.value: self.run_id,
            RunBusAttribute.CONTROL_KIND.value: self.kind.value,
            RunBusAttribute.CONTROL_FROM_CURSOR.value: self.from_cursor,
            RunBusAttribute.CONTROL_NEXT_CURSOR.value: self.next_cursor,
            RunBusAttribute.COALESCED_STEPS.value: self.coalesced.get("step", 0),
            RunBusAttribute.COALESCED_EPISODES.value: self.coalesced.get("episode", 0),
            RunBusAttribute.COALESCED_METRICS.value: self.coalesced.get("metric", 0),
        }


def notice_from_proto(message: pb.BusMessage) -> BusNotice | None:
    if not message.HasField("control"):
        return None
    control = message.control
    return BusNotice(
        ControlKind(control.kind),
        message.run_id,
        control.from_cursor,
        message.next_cursor,
        dict(control.coalesced),
    )


class _Typed(msgspec.Struct):
    type: str


_typed = msgspec.json.Decoder(_Typed)


def count_samples(lines: tuple[bytes, ...]) -> int:
    """How many credits these lines have cost."""
    return sum(_typed.decode(line).type in SAMPLE_TYPES for line in lines)
