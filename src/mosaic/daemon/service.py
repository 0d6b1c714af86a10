"""RPC handlers: unpack the request, ask the trainer, pack the answer. No decisions here.

This module holds those about runs; history, keeping and the bus have modules of their own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.bus_service import BusService
from mosaic.daemon.history_service import HistoryService
from mosaic.daemon.keeping_service import KeepingService
from mosaic.daemon.registry.registry import RunFilter
from mosaic.daemon.trainer import Trainer
from mosaic.errors import ConfigError
from mosaic.wire.convert import preflight_to_proto, record_to_proto, worker_to_proto
from mosaic.wire.generated import trainer_pb2 as pb

MAX_METRICS = 100_000


class TrainerService(HistoryService, KeepingService, BusService):
    """Errors raised here cross the wire intact; `wire.errors` sees to that."""

    def __init__(self, trainer: Trainer) -> None:
        super().__init__(trainer)
        # Runs that are over do not change: a list of thousands of them is packed only once.
        self._packed: dict[str, pb.RunRecord] = {}

    async def warm_up(self) -> None:
        """Read and pack the history before anybody waits for it; nothing for a young home."""
        records, _ = await self._trainer.list_runs(RunFilter())
        self._packed_all(records)

    async def SubmitRun(self, request: pb.SubmitRunRequest, context: Any) -> pb.SubmitRunResponse:  # noqa: N802
        consent = request.consent if request.HasField("consent") else None
        done = await self._trainer.submit(
            request.config_json, request.client_key, request.dry_run, consent
        )
        return pb.SubmitRunResponse(
            run_id=done.run_id,
            created=done.created,
            digest=done.digest,
            command=done.command,
            preflight=[preflight_to_proto(result) for result in done.preflight],
            consent_lines=done.consent.lines if done.consent else (),
        )

    async def CancelRun(self, request: pb.CancelRunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        grace_s = request.grace_s if request.HasField("grace_s") else None
        return record_to_proto(await self._trainer.cancel(request.run_id, request.reason, grace_s))

    async def PauseRun(self, request: pb.RunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        return record_to_proto(await self._trainer.pause(request.run_id))

    async def ResumeRun(self, request: pb.RunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        return record_to_proto(await self._trainer.unpause(request.run_id))

    async def GetRun(self, request: pb.RunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        return record_to_proto(await self._trainer.get(request.run_id))

    async def ListRuns(self, request: pb.ListRunsRequest, context: Any) -> pb.ListRunsResponse:  # noqa: N802
        chosen = RunFilter(
            states=tuple(_enum(RunState, text, "states") for text in request.states),
            outcomes=tuple(_enum(Outcome, text, "outcomes") for text in request.outcomes),
            contains=request.contains,
            limit=request.limit or None,
        )
        records, total = await self._trainer.list_runs(chosen)
        return pb.ListRunsResponse(runs=self._packed_all(records), total=total)

    async def WatchRuns(  # noqa: N802
        self, request: pb.WatchRunsRequest, context: Any
    ) -> AsyncIterator[pb.RunRecord]:
        async for record in self._trainer.watch(tuple(request.run_ids), request.after_revision):
            for message in self._packed_all([record]):
                yield message

    async def StreamLog(  # noqa: N802
        self, request: pb.StreamLogRequest, context: Any
    ) -> AsyncIterator[pb.LogChunk]:
        async for piece in self._trainer.stream_log(
            request.run_id, request.stream, request.tail_lines, [*request.after], request.follow
        ):
            yield pb.LogChunk(stream=piece.stream, data=piece.data, cursor=piece.cursor)

    async def StreamEvents(  # noqa: N802
        self, request: pb.StreamEventsRequest, context: Any
    ) -> AsyncIterator[pb.EventBatch]:
        async for events, cursor in self._trainer.stream_events(
            request.run_id, request.cursor, frozenset(request.types), request.follow
        ):
            yield pb.EventBatch(events=events, next_cursor=cursor)

    async def RecentMetrics(  # noqa: N802
        self, request: pb.RecentMetricsRequest, context: Any
    ) -> pb.RecentMetricsResponse:
        count = min(request.count or 100, MAX_METRICS)
        points = await self._trainer.recent_metrics(request.run_id, count, tuple(request.names))
        return pb.RecentMetricsResponse(
            points=[
                pb.MetricPoint(
                    name=p.name, value=p.value, step=p.step, timestamp=p.timestamp, seq=p.seq
                )
                for p in points
            ]
        )

    async def RegisterWorker(  # noqa: N802
        self, request: pb.RegisterWorkerRequest, context: Any
    ) -> pb.RegisterWorkerResponse:
        session = await self._trainer.sessions.register(
            run_id=request.run_id,
            attempt=request.attempt,
            attempt_token=request.attempt_token,
            schema_version=request.schema_version,
            protocol=request.protocol,
            capabilities=_json_object(request.capabilities_json, "capabilities_json"),
            worker_id=request.worker_id,
        )
        return pb.RegisterWorkerResponse(
            accepted_schema_version=session.schema_version,
            session_token=session.token,
            journal_offset=session.journal_offset,
        )

    async def PublishEvents(  # noqa: N802
        self, requests: AsyncIterator[pb.PublishEventsRequest], context: Any
    ) -> AsyncIterator[pb.PublishEventsAck]:
        async for request in requests:
            next_offset = await self._trainer.sessions.publish(
                request.run_id, request.session_token, request.offset, request.chunk
            )
            yield pb.PublishEventsAck(next_offset=next_offset)

    async def Control(self, request: pb.ControlRequest, context: Any) -> pb.ControlResponse:  # noqa: N802
        command = _json_object(request.command_json, "command_json")
        reply = await self._trainer.control(request.run_id, command)
        return pb.ControlResponse(reply_json=json.dumps(reply))

    async def ListWorkers(  # noqa: N802
        self, request: pb.ListWorkersRequest, context: Any
    ) -> pb.ListWorkersResponse:
        entries = await self._trainer.workers(request.refresh)
        return pb.ListWorkersResponse(workers=[worker_to_proto(entry) for entry in entries])

    async def GetHealth(self, request: pb.GetHealthRequest, context: Any) -> pb.HealthResponse:  # noqa: N802
        return pb.HealthResponse(**self._trainer.health())

    def _packed_all(self, records: Iterable[RunRecord]) -> list[pb.RunRecord]:
        """One record that no message can hold must not hide all others."""
        messages = []
        for record in records:
            try:
                messages.append(self._pack(record))
            except (ValueError, TypeError) as error:
                self._trainer.note_unusable(record.run_id, str(error))
        return messages

    def _pack(self, record: RunRecord) -> pb.RunRecord:
        if not record.is_over:
            return record_to_proto(record)
        message = self._packed.get(record.run_id)
        if message is None or message.revision != record.revision:
            message = self._packed[record.run_id] = record_to_proto(record)
        return message


def _enum(kind: Any, text: str, field: str) -> Any:
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(item.value for item in kind)
        raise ConfigError(f"{text!r} is not one of {known}", field=field) from None


def _json_object(text: str, field: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise ConfigError(f"{field} is not valid JSON", field=field) from None
    if not isinstance(value, dict):
        raise ConfigError(f"{field} must be a JSON object", field=field)
    return value
