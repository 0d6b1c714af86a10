"""Who may call: everybody on the unix socket, which the file system guards; on TCP, the token.

Every method is covered, unknown ones too; nothing of a request is parsed before the check.
"""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from mosaic.errors import RequestError, UnauthenticatedError
from mosaic.wire.method_handlers import (
    Behaviour,
    Continuation,
    ServerInterceptor,
    behaviour_of,
    is_generator,
    with_behaviour,
)

AUTHORIZATION = "authorization"


def bearer_metadata(token: str | None) -> tuple[tuple[str, str], ...]:
    """What a client adds to each call."""
    return ((AUTHORIZATION, f"Bearer {token}"),) if token else ()


class TokenInterceptor(ServerInterceptor):
    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("an empty token would let everybody in")
        self._expected = f"Bearer {token}".encode()

    async def intercept_service(
        self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any]:
        handler = await continuation(handler_call_details)
        if self._has_token(handler_call_details):
            return handler
        # Who calls is known only once a handler runs, so the handler itself must look.
        if handler is None:
            return grpc.stream_stream_rpc_method_handler(_unknown_method)
        behaviour = behaviour_of(handler)
        parse = _parser(handler.request_deserializer, streams=bool(handler.request_streaming))
        guarded = _local_only_stream if is_generator(behaviour) else _local_only
        return with_behaviour(handler, guarded(behaviour, parse), request_deserializer=None)

    def _has_token(self, details: grpc.HandlerCallDetails) -> bool:
        return any(
            key == AUTHORIZATION and hmac.compare_digest(_as_bytes(value), self._expected)
            for key, value in details.invocation_metadata or ()
        )


def _local_only(behaviour: Behaviour, parse: Callable[[Any], Any]) -> Behaviour:
    async def call(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        _require_local(context)
        return await behaviour(parse(request), context)

    return call


def _local_only_stream(behaviour: Behaviour, parse: Callable[[Any], Any]) -> Behaviour:
    async def stream(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        _require_local(context)
        async with aclosing(behaviour(parse(request), context)) as responses:
            async for response in responses:
                yield response

    return stream


async def _unknown_method(
    requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[Any, Any]
) -> AsyncIterator[bytes]:
    _require_local(context)
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
    yield b""  # makes this a generator, as gRPC expects


def _require_local(context: grpc.aio.ServicerContext[Any, Any]) -> None:
    if not context.peer().startswith("unix:"):
        raise UnauthenticatedError(
            "The daemon wants a token on this connection",
            hint="pass the content of daemon.token in the trainer folder of its home",
        )


def _parser(deserialize: Callable[[bytes], Any] | None, streams: bool) -> Callable[[Any], Any]:
    def parse(data: bytes) -> Any:
        try:
            return deserialize(data) if deserialize else data
        except DecodeError as error:
            raise RequestError(f"The request is not a valid message: {error}") from None

    async def parse_each(requests: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for data in requests:
            yield parse(data)

    return parse_each if streams else parse


def _as_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()
