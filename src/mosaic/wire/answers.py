"""What the daemon answers besides run records, as plain Python values for clients."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.consent import Consent, consent_from_lines
from mosaic.contracts.events import MetricPoint
from mosaic.wire.generated import trainer_pb2 as pb


@dataclass(frozen=True)
class CheckResult:
    """One pre-flight or readiness check, with what to do when it failed."""

    check: str
    ok: bool
    message: str
    fix: str
    required: bool

    @classmethod
    def from_proto(cls, message: pb.PreflightResult) -> CheckResult:
        return cls(message.check, message.ok, message.message, message.fix, message.required)


@dataclass(frozen=True)
class Submission:
    run_id: str  # empty after a dry run
    created: bool  # False when the client key had been used before
    digest: str
    command: tuple[str, ...]
    preflight: tuple[CheckResult, ...]
    # What a person has to see before it runs; after a dry run.
    consent: Consent | None = None

    @property
    def is_ready(self) -> bool:
        """Whether nothing stands in the way of what was checked."""
        return all(result.ok or not result.required for result in self.preflight)

    @classmethod
    def from_proto(cls, message: pb.SubmitRunResponse) -> Submission:
        return cls(
            message.run_id,
            message.created,
            message.digest,
            tuple(message.command),
            tuple(map(CheckResult.from_proto, message.preflight)),
            consent_from_lines(message.consent_lines),
        )

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["consent"] = self.consent.to_dict() if self.consent else None
        return data


@dataclass(frozen=True)
class WorkerInfo:
    name: str
    module: str
    python: str
    source: str
    error: str  # why it cannot be used; empty when it can
    capabilities: WorkerCapabilities | None
    readiness: tuple[CheckResult, ...]

    @property
    def is_ready(self) -> bool:
        return not self.error and all(item.ok or not item.required for item in self.readiness)

    @classmethod
    def from_proto(cls, message: pb.Worker) -> WorkerInfo:
        text = message.capabilities_json
        return cls(
            message.name,
            message.module,
            message.python,
            message.source,
            message.error,
            WorkerCapabilities.from_dict(json.loads(text)) if text else None,
            tuple(map(CheckResult.from_proto, message.readiness)),
        )

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["capabilities"] = self.capabilities.to_dict() if self.capabilities else None
        data["ready"] = self.is_ready
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
    """Lines of the journal, and the cursor from which the next call would go on."""

    lines: tuple[bytes, ...]
    next_cursor: int

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


def metric_points(run_id: str, message: pb.RecentMetricsResponse) -> list[MetricPoint]:
    return [
        MetricPoint(run_id, point.seq, point.timestamp, point.name, point.value, point.step)
        for point in message.points
    ]
