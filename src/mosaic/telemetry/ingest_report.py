"""What an ingest step tells the daemon: how far it came, and what the worker announced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mosaic.contracts.events import EventType, RunLifecycleEvent
from mosaic.contracts.run_record import Progress
from mosaic.telemetry.event_page import EventPage


@dataclass(frozen=True)
class IngestReport:
    """What one step found. Notices are lifecycle events of the attempt that registered last, in
    their order, and of heartbeats only the last."""

    attempt: int  # as registered; 0 while nobody has
    agent_id: str
    worker_id: str
    env_id: str
    offset: int
    bytes_read: int
    has_more: bool
    events: int
    has_samples: bool
    quarantined: int
    quarantined_total: int
    progress: Progress
    notices: tuple[RunLifecycleEvent, ...] = ()
    # Everything the step has stored, for those who follow the run; only when asked for.
    page: EventPage | None = None

    @property
    def registered(self) -> dict[str, Any] | None:
        return self._payload(EventType.WORKER_REGISTERED)

    @property
    def started(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_STARTED)

    @property
    def checkpoint(self) -> dict[str, Any] | None:
        return self._payload(EventType.CHECKPOINT_SAVED)

    @property
    def completed(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_COMPLETED)

    @property
    def failed(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_FAILED)

    @property
    def cancelled(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_CANCELLED)

    @property
    def heartbeat(self) -> dict[str, Any] | None:
        return self._payload(EventType.HEARTBEAT)

    @property
    def heartbeat_at(self) -> float | None:
        notice = self._last(EventType.HEARTBEAT)
        return notice.timestamp if notice else None

    @property
    def is_paused(self) -> bool | None:
        """None when this step says nothing about it."""
        notice = self._last(EventType.RUN_PAUSED, EventType.RUN_RESUMED)
        return notice.type is EventType.RUN_PAUSED if notice else None

    def _payload(self, kind: EventType) -> dict[str, Any] | None:
        notice = self._last(kind)
        return notice.payload if notice else None

    def _last(self, *kinds: EventType) -> RunLifecycleEvent | None:
        return next((notice for notice in reversed(self.notices) if notice.type in kinds), None)
