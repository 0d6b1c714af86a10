"""RPC handlers that answer what runs have stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from mosaic.daemon.log_search import LogQuery
from mosaic.daemon.run_history import SeriesQuestion
from mosaic.daemon.trainer import Trainer
from mosaic.errors import CorruptStoreError
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated import trainer_pb2_grpc as rpc
from mosaic.wire.history import info_to_proto, series_to_proto
from mosaic.wire.recordings import recording_to_proto


class HistoryService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    async def ListMetrics(self, request: pb.RunRequest, context: Any) -> pb.ListMetricsResponse:  # noqa: N802
        infos = await self._trainer.history.metrics(request.run_id)
        return pb.ListMetricsResponse(metrics=map(info_to_proto, infos))

    async def QuerySeries(  # noqa: N802
        self, request: pb.QuerySeriesRequest, context: Any
    ) -> pb.QuerySeriesResponse:
        question = SeriesQuestion(
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
