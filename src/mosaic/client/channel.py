"""Channels to a daemon whose address is known, and the question every connection begins with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from mosaic.wire.answers import Health
from mosaic.wire.auth import bearer_metadata
from mosaic.wire.errors import raise_from_rpc
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated.trainer_pb2_grpc import TrainerStub
from mosaic.wire.server_address import CLIENT_OPTIONS, TcpAddress, TlsFiles, channel_credentials


@dataclass(frozen=True)
class Target:
    """Where a daemon listens, and the metadata it expects on each call."""

    address: str
    token: str | None = None
    tls: TlsFiles | None = None

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return bearer_metadata(self.token)


def unix_target(socket: Path | str) -> Target:
    return Target(f"unix:{socket}")


def tcp_target(address: TcpAddress, token: str | None) -> Target:
    return Target(str(address), token, address.tls)


def open_channel(target: Target) -> grpc.Channel:
    if target.tls is None:
        return grpc.insecure_channel(target.address, CLIENT_OPTIONS)
    return grpc.secure_channel(target.address, channel_credentials(target.tls), CLIENT_OPTIONS)


def open_async_channel(target: Target) -> grpc.aio.Channel:
    if target.tls is None:
        return grpc.aio.insecure_channel(target.address, CLIENT_OPTIONS)
    return grpc.aio.secure_channel(target.address, channel_credentials(target.tls), CLIENT_OPTIONS)


def trainer_stub(channel: grpc.Channel | grpc.aio.Channel) -> Any:
    return TrainerStub(channel)


def ask_health(target: Target, timeout_s: float) -> Health:
    """What answers at this address; raises TrainerUnreachableError when nothing does."""
    with open_channel(target) as channel:
        try:
            answer = trainer_stub(channel).GetHealth(
                pb.GetHealthRequest(), timeout=timeout_s, metadata=target.metadata
            )
        except grpc.RpcError as error:
            raise_from_rpc(error)
    return Health.from_proto(answer)
