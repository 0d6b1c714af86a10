"""RPC handlers that decide what is kept: trash, pins, retention, archives."""

from __future__ import annotations

from typing import Any

from mosaic.daemon.trainer import Trainer
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated import trainer_pb2_grpc as rpc


class KeepingService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer

    async def DeleteRun(  # noqa: N802
        self, request: pb.DeleteRunRequest, context: Any
    ) -> pb.DeleteRunResponse:
        return pb.DeleteRunResponse(freed_bytes=await self._trainer.delete(request.run_id))
