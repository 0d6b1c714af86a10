"""A real gRPC server on a real socket around a servicer that a test scripts."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from mosaic.files import atomic_write_json
from mosaic.paths import Home
from mosaic.processes import identity_of
from mosaic.wire.auth import TokenInterceptor
from mosaic.wire.errors import ErrorInterceptor
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.generated.trainer_pb2_grpc import TrainerServicer, add_TrainerServicer_to_server
from mosaic.wire.server_address import CHANNEL_OPTIONS, TcpAddress, TlsFiles, listen_on_tcp
from tests.waiting import PATIENCE_S

TOKEN = "right-token"


class ScriptedTrainer(TrainerServicer):
    """Answers health by itself; everything else is what the test put into `script`.

    A script takes (request, context); streaming ones are async generator functions.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.pid = os.getpid()
        self.script: dict[str, Callable[..., Any]] = {}
        self.requests: list[Any] = []

    async def GetHealth(self, request: Any, context: Any) -> pb.HealthResponse:
        return pb.HealthResponse(healthy=True, pid=self.pid, home=str(self.home.root))


def _unary(name: str) -> Any:
    async def call(self: ScriptedTrainer, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return await self.script[name](request, context)

    return call


def _stream(name: str) -> Any:
    async def stream(self: ScriptedTrainer, request: Any, context: Any) -> AsyncIterator[Any]:
        # A copy: an in-process client might go on changing its request.
        self.requests.append(request)
        async for message in self.script[name](request, context):
            yield message

    return stream


for _method in pb.DESCRIPTOR.services_by_name["Trainer"].methods:
    if _method.name != "GetHealth":
        _make = _stream if _method.server_streaming else _unary
        setattr(ScriptedTrainer, _method.name, _make(_method.name))


class ServerThread:
    """Serves a ScriptedTrainer from an event loop of its own, announced like a daemon."""

    def __init__(self, home: Home, tls: TlsFiles | None = None) -> None:
        home.create()
        self._tls = tls
        self.home = home
        self.trainer = ScriptedTrainer(home)
        self.address: TcpAddress | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: grpc.aio.Server | None = None
        self.start()

    def start(self) -> None:
        self._run(self._start())
        identity = identity_of(os.getpid())
        assert identity is not None
        atomic_write_json(
            self.home.daemon_info, {**identity.to_dict(), "socket": str(self.home.daemon_socket)}
        )

    async def _start(self) -> None:
        self._server = grpc.aio.server(
            interceptors=[ErrorInterceptor(), TokenInterceptor(TOKEN)], options=CHANNEL_OPTIONS
        )
        add_TrainerServicer_to_server(self.trainer, self._server)
        self.home.daemon_socket.unlink(missing_ok=True)
        self._server.add_insecure_port(f"unix:{self.home.daemon_socket}")
        self.address = listen_on_tcp(self._server, TcpAddress("127.0.0.1", 0, self._tls))
        await self._server.start()

    def crash(self) -> None:
        """Every connection breaks at once; what was announced stays."""
        if self._server is not None:
            self._run(self._server.stop(None))
            self._server = None

    def close(self) -> None:
        self.crash()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()
        self.home.daemon_socket.unlink(missing_ok=True)
        self.home.runtime.rmdir()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)
