"""RPC handlers: unpack the request, ask the trainer, pack the answer. No decisions here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

import grpc

from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.bundles.kept_locks import Agreement
from mosaic.daemon.bus.flow import Delivery
from mosaic.daemon.bus.hub import Subscription, SubscriptionRequest
from mosaic.daemon.history.logs import LogQuery
from mosaic.daemon.history.run_history import SeriesQuery
from mosaic.daemon.keeping.archives import ArchivePiece
from mosaic.daemon.registry.reader import RunFilter
from mosaic.daemon.rpc.bundle_service import BundleService
from mosaic.daemon.trainer.trainer import Trainer
from mosaic.errors import ConfigError, CorruptStoreError, RequestError
from mosaic.logs import get_logger
from mosaic.wire.bundles import venv_to_proto
from mosaic.wire.convert import (
    check_to_proto,
    policy_from_proto,
    record_to_proto,
    retention_to_proto,
    trashed_run_to_proto,
    worker_to_proto,
)
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated import trainer_pb2_grpc as rpc
from mosaic.wire.history import info_to_proto, recording_to_proto, series_to_proto


class HistoryService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    async def ListMetrics(self, request: pb.RunRequest, context: Any) -> pb.ListMetricsResponse:  # noqa: N802
        infos = await self._trainer.history.metrics(request.run_id)
        return pb.ListMetricsResponse(metrics=map(info_to_proto, infos))

    async def ListSettings(  # noqa: N802
        self, request: pb.ListSettingsRequest, context: Any
    ) -> pb.ListSettingsResponse:
        found = await self._trainer.settings.of(tuple(request.run_ids))
        return pb.ListSettingsResponse(settings_json=found)

    async def QuerySeries(  # noqa: N802
        self, request: pb.QuerySeriesRequest, context: Any
    ) -> pb.QuerySeriesResponse:
        question = SeriesQuery(
            run_ids=tuple(request.run_ids),
            names=tuple(request.names),
            first_step=request.first_step if request.HasField("first_step") else None,
            last_step=request.last_step if request.HasField("last_step") else None,
            buckets=request.buckets,
            after_cursor=request.after_cursor,
            limit=request.limit,
        )
        found = await self._trainer.history.series(question)
        return pb.QuerySeriesResponse(series=map(series_to_proto, found))

    async def ListEpisodes(  # noqa: N802
        self, request: pb.ListEpisodesRequest, context: Any
    ) -> pb.ListEpisodesResponse:
        index = request.episode_index if request.HasField("episode_index") else None
        page, total = await self._trainer.history.episodes(
            request.run_id, request.order, request.limit, request.after_cursor, index
        )
        return pb.ListEpisodesResponse(
            episodes=[pb.EpisodeRow(**row) for row in page.rows],
            next_cursor=page.next_cursor,
            total=total,
        )

    async def ListSteps(  # noqa: N802
        self, request: pb.ListStepsRequest, context: Any
    ) -> pb.ListStepsResponse:
        page = await self._trainer.history.steps(
            request.run_id,
            request.episode_index if request.HasField("episode_index") else None,
            request.attempt if request.HasField("attempt") else None,
            request.after_cursor,
            request.limit,
        )
        return pb.ListStepsResponse(
            steps=[pb.StepRow(**row) for row in page.rows], next_cursor=page.next_cursor
        )

    async def GetRecording(  # noqa: N802
        self, request: pb.GetRecordingRequest, context: Any
    ) -> pb.EpisodeRecording:
        attempt = request.attempt if request.HasField("attempt") else None
        recording = await self._trainer.recordings.find(
            request.run_id, request.episode_index, attempt, request.consent
        )
        try:
            return recording_to_proto(recording)
        except (ValueError, TypeError, OverflowError) as error:
            raise CorruptStoreError(
                f"The recording of episode {request.episode_index} says what no answer can hold: "
                f"{error}",
                hint="other episodes of this run can still be replayed",
            ) from error

    async def SearchLogs(  # noqa: N802
        self, request: pb.SearchLogsRequest, context: Any
    ) -> AsyncIterator[pb.LogMatch]:
        query = LogQuery(
            request.text, request.is_regex, request.ignore_case, request.stream, request.limit
        )
        matches = self._trainer.log_search.search(request.run_ids, query)
        async with aclosing(matches):
            async for match in matches:
                yield pb.LogMatch(**asdict(match))


class KeepingService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    async def DeleteRun(  # noqa: N802
        self, request: pb.DeleteRunRequest, context: Any
    ) -> pb.DeleteRunResponse:
        done = await self._trainer.keeping.trash.delete(request.run_id, request.for_good)
        return pb.DeleteRunResponse(freed_bytes=done.freed_bytes, is_in_trash=done.is_in_trash)

    async def RestoreRun(self, request: pb.RunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        return record_to_proto(await self._trainer.keeping.trash.restore(request.run_id))

    async def ListTrash(  # noqa: N802
        self, request: pb.ListTrashRequest, context: Any
    ) -> pb.ListTrashResponse:
        runs = await self._trainer.keeping.retention.trashed()
        return pb.ListTrashResponse(runs=[trashed_run_to_proto(run) for run in runs])

    async def EmptyTrash(  # noqa: N802
        self, request: pb.EmptyTrashRequest, context: Any
    ) -> pb.EmptyTrashResponse:
        freed, runs = await self._trainer.keeping.trash.empty(request.run_ids)
        return pb.EmptyTrashResponse(freed_bytes=freed, runs=runs)

    async def PinRun(self, request: pb.PinRunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        record = await self._trainer.keeping.labels.pin(request.run_id, request.pinned)
        return record_to_proto(record)

    async def LabelRun(self, request: pb.LabelRunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        change = LabelChange(
            request.name if request.HasField("name") else None,
            tuple(request.add_tags),
            tuple(request.remove_tags),
            request.note if request.HasField("note") else None,
        )
        record = await self._trainer.keeping.labels.label(request.run_id, change)
        return record_to_proto(record)

    async def ApplyRetention(  # noqa: N802
        self, request: pb.RetentionRequest, context: Any
    ) -> pb.RetentionResponse:
        policy = policy_from_proto(request)
        result = await self._trainer.keeping.retention.apply(policy, request.dry_run)
        return retention_to_proto(result)

    async def ArchiveRun(  # noqa: N802
        self, request: pb.ArchiveRunRequest, context: Any
    ) -> AsyncIterator[pb.ArchiveChunk]:
        is_first = True
        async for data, total in self._trainer.keeping.archives.archive(request.run_id):
            yield pb.ArchiveChunk(data=data, total_bytes=total if is_first else 0)
            is_first = False

    async def ImportRun(  # noqa: N802
        self, requests: AsyncIterator[pb.ArchiveChunk], context: Any
    ) -> pb.ImportRunResponse:
        pieces = (
            ArchivePiece(request.data, request.total_bytes, request.max_unpacked_bytes)
            async for request in requests
        )
        record, files, size = await self._trainer.keeping.archives.import_run(pieces)
        return pb.ImportRunResponse(run=record_to_proto(record), files=files, bytes=size)


log = get_logger(__name__)

# A client that reads nothing for this long is dropped; it can come back by its cursors.
SEND_TIMEOUT_S = 30.0


class BusService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    async def Subscribe(  # noqa: N802
        self, requests: AsyncIterator[pb.SubscribeRequest], context: Any
    ) -> None:
        first = await anext(aiter(requests), None)
        if first is None:
            raise RequestError("The stream of requests is empty", hint="first say what to follow")
        request = SubscriptionRequest(
            tuple(first.run_ids),
            frozenset(first.types),
            dict(first.cursors),
            first.credits,
            first.lossless,
        )
        try:
            async with self._trainer.hub.subscribe(request) as subscription:
                await _serve_subscription(subscription, requests, context)
        except TimeoutError:
            log.warning("subscriber.dropped", patience_s=SEND_TIMEOUT_S)
            # To the client it looks like a lost connection, so it resumes by its cursors. This
            # may wait until the client wakes up: nothing of the subscription is left by now.
            await context.abort(
                grpc.StatusCode.UNAVAILABLE, f"Took nothing for {SEND_TIMEOUT_S:g} s"
            )


async def _serve_subscription(
    subscription: Subscription, requests: AsyncIterator[pb.SubscribeRequest], context: Any
) -> None:
    """Raises TimeoutError when the client reads nothing."""
    granting = asyncio.create_task(_grant(subscription, requests))
    try:
        async with aclosing(subscription.deliveries()) as deliveries:
            async for run_id, delivery in deliveries:
                # Written rather than yielded: only then do we notice that nobody reads it.
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await context.write(_packed_delivery(run_id, delivery))
    finally:
        granting.cancel()
        await asyncio.gather(granting, return_exceptions=True)


async def _grant(subscription: Subscription, requests: AsyncIterator[pb.SubscribeRequest]) -> None:
    async for request in requests:
        subscription.grant(request.credits)


def _packed_delivery(run_id: str, delivery: Delivery) -> pb.BusMessage:
    control = delivery.control
    return pb.BusMessage(
        run_id=run_id,
        events=delivery.lines,
        next_cursor=delivery.next_cursor,
        control=None
        if control is None
        else pb.BusControl(
            kind=control.kind.value, coalesced=control.coalesced, from_cursor=control.from_cursor
        ),
    )


MAX_METRICS = 100_000


class TrainerService(HistoryService, KeepingService, BundleService, BusService):
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
        most_bytes = request.most_install_bytes if request.HasField("most_install_bytes") else None
        done = await self._trainer.submit(
            request.config_json,
            request.client_key,
            request.dry_run,
            consent,
            Agreement(most_bytes) if request.install else None,
        )
        missing = await self._trainer.bundles.infos_of(done.missing)
        return pb.SubmitRunResponse(
            run_id=done.run_id,
            created=done.created,
            digest=done.digest,
            command=done.command,
            preflight=[check_to_proto(result) for result in done.preflight],
            consent_lines=done.consent.lines if done.consent else (),
            missing=map(venv_to_proto, missing),
        )

    async def CancelRun(self, request: pb.CancelRunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        grace_s = request.grace_s if request.HasField("grace_s") else None
        return record_to_proto(await self._trainer.stop(request.run_id, request.reason, grace_s))

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
