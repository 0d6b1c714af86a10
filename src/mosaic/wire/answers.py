"""What the daemon answers, and what comes over the bus, as plain Python values for clients.

Run records, check results and workers are contracts of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from mosaic.contracts.bundles import VenvInfo
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.consent import Consent, consent_from_lines
from mosaic.contracts.events import SAMPLE_TYPES, MetricPoint
from mosaic.contracts.runbus import ControlKind, RunBusAttribute, RunBusName, bus_record
from mosaic.wire.bundles import venv_from_proto
from mosaic.wire.convert import check_from_proto
from mosaic.wire.generated import trainer_pb2 as pb


@dataclass(frozen=True)
class Submission:
    run_id: str  # empty after a dry run
    created: bool  # False when the client key had been used before
    digest: str
    command: tuple[str, ...]
    preflight: tuple[CheckResult, ...]
    # What a person has to see before it runs; after a dry run.
    consent: Consent | None = None
    # What it needs and is not installed: how it is told apart from other failures, with its size.
    missing: tuple[VenvInfo, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether nothing stands in the way of what was checked."""
        return not any(result.is_fatal for result in self.preflight)

    @classmethod
    def from_proto(cls, message: pb.SubmitRunResponse) -> Submission:
        return cls(
            message.run_id,
            message.created,
            message.digest,
            tuple(message.command),
            tuple(map(check_from_proto, message.preflight)),
            consent_from_lines(message.consent_lines),
            tuple(map(venv_from_proto, message.missing)),
        )

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["consent"] = self.consent.to_dict() if self.consent else None
        data["missing"] = [venv.to_dict() for venv in self.missing]
        return data


@dataclass(frozen=True)
class Health:
    healthy: bool
    pid: int
    started_at: float
    version: str
    home: str
    addresses: tuple[str, ...]
    live_runs: int
    queued_runs: int
    alarms: tuple[str, ...]
    rss_mb: float
    cpus_total: int
    cpus_free: int
    memory_mb_total: int
    memory_mb_free: int
    gpus_total: int
    gpus_free: int
    containment: str = ""  # "cgroup" or "subreaper"

    @classmethod
    def from_proto(cls, message: pb.HealthResponse) -> Health:
        values = {name: getattr(message, name) for name in cls.__dataclass_fields__}
        values["addresses"] = tuple(message.addresses)
        values["alarms"] = tuple(message.alarms)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class LogChunk:
    stream: str  # "stdout" or "stderr"
    data: bytes


@dataclass(frozen=True)
class EventBatch:
    """Lines of the journal, and the cursor from which the next call would continue."""

    lines: tuple[bytes, ...]
    next_cursor: int

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


def metric_points(run_id: str, message: pb.RecentMetricsResponse) -> list[MetricPoint]:
    return [
        MetricPoint(run_id, point.seq, point.timestamp, point.name, point.value, point.step)
        for point in message.points
    ]


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
