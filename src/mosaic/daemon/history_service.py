"""RPC handlers that answer what runs have stored."""

from __future__ import annotations

from mosaic.daemon.trainer import Trainer
from mosaic.wire.generated import trainer_pb2_grpc as rpc


class HistoryService(rpc.TrainerServicer):
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
