"""RPC handlers that decide what is kept: trash, pins, retention, archives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from mosaic.daemon.keeping.archive_keeper import ArchivePiece
from mosaic.daemon.trainer import Trainer
from mosaic.wire.convert import record_to_proto
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated import trainer_pb2_grpc as rpc
from mosaic.wire.keeping import (
    policy_from_proto,
    retention_to_proto,
    trashed_run_to_proto,
)


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
        runs = await self._trainer.keeping.trash.runs()
        return pb.ListTrashResponse(runs=[trashed_run_to_proto(run) for run in runs])

    async def EmptyTrash(  # noqa: N802
        self, request: pb.EmptyTrashRequest, context: Any
    ) -> pb.EmptyTrashResponse:
        freed, runs = await self._trainer.keeping.trash.empty(request.run_ids)
        return pb.EmptyTrashResponse(freed_bytes=freed, runs=runs)

    async def PinRun(self, request: pb.PinRunRequest, context: Any) -> pb.RunRecord:  # noqa: N802
        record = await self._trainer.keeping.retention.pin(request.run_id, request.pinned)
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
