"""Wrapping gRPC method handlers of all four kinds, for server interceptors."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import grpc

if TYPE_CHECKING:
    ServerInterceptor = grpc.aio.ServerInterceptor[Any, Any]
else:
    ServerInterceptor = grpc.aio.ServerInterceptor  # generic in the stubs only

# (request, context) -> response or async iterator of responses; a streaming request is an
# async iterator, so that "streams in" makes no difference to a wrapper.
Behaviour = Callable[[Any, Any], Any]
Continuation = Callable[[grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any]"]]

_FACTORIES: dict[tuple[bool, bool], Callable[..., grpc.RpcMethodHandler[Any, Any]]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
_ATTRIBUTES = {
    (False, False): "unary_unary",
    (False, True): "unary_stream",
    (True, False): "stream_unary",
    (True, True): "stream_stream",
}


def behaviour_of(handler: grpc.RpcMethodHandler[Any, Any]) -> Behaviour:
    kind = bool(handler.request_streaming), bool(handler.response_streaming)
    behaviour: Behaviour = getattr(handler, _ATTRIBUTES[kind])
    return behaviour


def is_generator(behaviour: Behaviour) -> bool:
    """Whether it yields its responses, rather than returning one or writing to the context."""
    return inspect.isasyncgenfunction(behaviour)


def with_behaviour(
    handler: grpc.RpcMethodHandler[Any, Any],
    behaviour: Behaviour,
    request_deserializer: Callable[[bytes], Any] | None,
) -> grpc.RpcMethodHandler[Any, Any]:
    """The same kind of handler around another function."""
    kind = bool(handler.request_streaming), bool(handler.response_streaming)
    return _FACTORIES[kind](
        behaviour,
        request_deserializer=request_deserializer,
        response_serializer=handler.response_serializer,
    )
