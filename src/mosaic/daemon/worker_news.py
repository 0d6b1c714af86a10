"""What a journal's news mean for a run: pure functions from ingest reports to events and values."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.daemon.run_lifecycle import Event, Paused, Registered, Sampled, Unpaused
from mosaic.telemetry.ingest import IngestReport


def events_of(report: IngestReport, state: RunState) -> list[Event]:
    """What happens to the run because of this report, in order."""
    events: list[Event] = []
    if state in (RunState.HSHK, RunState.RDY):
        if report.registered is not None:
            events.append(Registered())
        if report.has_samples:
            # A worker that prints samples without registering is taken at its word.
            events.extend((Registered("first sample received"), Sampled()))
    if report.is_paused is not None:
        events.append(Paused() if report.is_paused else Unpaused())
    return events


def values_of(report: IngestReport) -> dict[str, Any]:
    """Fields of the run's record that this report makes new."""
    values: dict[str, Any] = {
        "progress": report.progress,
        "quarantined_lines": report.quarantined_total,
    }
    if report.registered is not None:
        values["capabilities"] = report.registered.get("capabilities") or {}
    if report.env_id:
        values["env_id"] = report.env_id
    if report.heartbeat_at is not None:
        values["last_heartbeat_at"] = report.heartbeat_at
    if report.checkpoint is not None:
        values["checkpoint_uri"] = str(report.checkpoint.get("path") or "")
    return values


def last_words(record: RunRecord) -> dict[str, Any]:
    """What journals have said about an attempt that is over.

    While it lives this goes to the registry in batches; at the end it must be exact, also when the
    daemon is killed right after it.
    """
    names = (
        *("progress", "last_heartbeat_at", "quarantined_lines"),
        *("env_id", "checkpoint_uri", "metrics_digest"),
    )
    values = {name: getattr(record, name) for name in names}
    if record.capabilities:
        values["capabilities"] = record.capabilities
    return {**values, "stalled": ""}
