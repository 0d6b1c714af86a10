"""MosaicError across the wire: raised in the daemon, raised again, same class, in the client."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, NoReturn

import grpc

from mosaic import errors
from mosaic.errors import MosaicError, TrainerUnreachableError, from_wire, to_wire
from mosaic.logs import get_logger
from mosaic.wire.method_handlers import (
    Behaviour,
    Continuation,
    ServerInterceptor,
    behaviour_of,
    is_generator,
    with_behaviour,
)

log = get_logger(__name__)

# "-bin": gRPC then carries any bytes.
ERROR_KEY = "mosaic-error-bin"
# HTTP/2 implementations refuse more than 8 KiB of metadata, after encoding.
MAX_ERROR_BYTES = 4_000
MAX_TEXT = 300

_CODES: dict[type[MosaicError], grpc.StatusCode] = {
    MosaicError: grpc.StatusCode.INTERNAL,
    errors.RequestError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.UnknownWorkerError: grpc.StatusCode.NOT_FOUND,
    errors.UnknownRunError: grpc.StatusCode.NOT_FOUND,
    errors.RunStateError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.ConsentError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.UnauthenticatedError: grpc.StatusCode.UNAUTHENTICATED,
    errors.PreflightError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.GpuError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.DiskSpaceError: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.WorkerProtocolError: grpc.StatusCode.INVALID_ARGUMENT,
    errors.CorruptStoreError: grpc.StatusCode.DATA_LOSS,
    errors.JournalOffsetError: grpc.StatusCode.OUT_OF_RANGE,
    errors.TrainerUnreachableError: grpc.StatusCode.UNAVAILABLE,
    errors.DaemonConflictError: grpc.StatusCode.FAILED_PRECONDITION,
}


def status_code(error: MosaicError) -> grpc.StatusCode:
    """The code of the error's own class, or of the nearest class above it."""
    return next(_CODES[cls] for cls in type(error).__mro__ if cls in _CODES)


class ErrorInterceptor(ServerInterceptor):
    """Answers every error of a handler with a status; must be the outermost interceptor."""

    async def intercept_service(
        self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any]:
        handler = await continuation(handler_call_details)
        if handler is None:
            return handler  # gRPC answers UNIMPLEMENTED
        behaviour = behaviour_of(handler)
        guarded = _guarded_stream if is_generator(behaviour) else _guarded
        return with_behaviour(
            handler,
            guarded(behaviour, handler_call_details.method),
            handler.request_deserializer,
        )


def _guarded(behaviour: Behaviour, method: str) -> Behaviour:
    async def call(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        try:
            return await behaviour(request, context)
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 (root of the call: nothing may escape unanswered)
            await _answer(error, method, context)

    return call


def _guarded_stream(behaviour: Behaviour, method: str) -> Behaviour:
    async def stream(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        try:
            async with aclosing(behaviour(request, context)) as responses:
                async for response in responses:
                    yield response
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 (root of the call: nothing may escape unanswered)
            await _answer(error, method, context)

    return stream


async def _answer(
    error: Exception, method: str, context: grpc.aio.ServicerContext[Any, Any]
) -> NoReturn:
    if not isinstance(error, MosaicError):
        # The client learns that, not what: a traceback may hold paths and secrets.
        log.exception("call.failed", method=method, error=repr(error))  # noqa: LOG004 (called in one)
        error = MosaicError(
            "The daemon ran into an unexpected error",
            hint="its log has the details; please report it",
        )
    # A lone surrogate, quoted from a request, could not be sent, and the caller would hear nothing.
    text = error.message[:MAX_TEXT].encode("utf-8", "replace").decode()
    await context.abort(status_code(error), text, ((ERROR_KEY, _payload(error)),))


def _payload(error: MosaicError) -> bytes:
    data = to_wire(error).encode()
    length = MAX_TEXT
    while len(data) > MAX_ERROR_BYTES:
        # Better the right class with half a sentence than no error at all.
        short = type(error)(error.message[:length], hint=error.hint[:length])
        field = error.details.get("field")
        if isinstance(field, str) and len(field) <= length:
            short.details["field"] = field
        data, length = to_wire(short).encode(), length // 2
    return data


def from_rpc(error: grpc.RpcError) -> MosaicError:
    """The error the daemon raised, or one that says why none of its words arrived."""
    if payload := _payload_of(error):
        return from_wire(payload.decode())
    code, text = error.code(), error.details() or ""
    if code is grpc.StatusCode.UNAVAILABLE:
        return TrainerUnreachableError(
            "The connection to the daemon broke" + (f": {text}" if text else ""),
            hint="`mosaic daemon status` says whether it runs",
        )
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return TrainerUnreachableError(
            "The daemon did not answer in time",
            hint="it may be overloaded or stopped; see `mosaic daemon status`",
        )
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return MosaicError(
            "The daemon does not know this call",
            hint="daemon and client differ in version: `mosaic daemon stop`, then try again",
        )
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return errors.RequestError(
            f"This is too large for one message: {text}", hint="send, or ask for, less at once"
        )
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return errors.UnauthenticatedError(text)
    return MosaicError(f"The call failed: {code.name} {text}".rstrip())


def raise_from_rpc(error: grpc.RpcError) -> NoReturn:
    raise from_rpc(error) from error


def is_connection_lost(error: grpc.RpcError) -> bool:
    """Whether the daemon went away, as opposed to having answered with an error.

    A daemon that shuts down cancels its streams; we never look here after our own cancel.
    """
    lost = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
    return error.code() in lost and not _payload_of(error)


def _payload_of(error: grpc.RpcError) -> bytes | None:
    metadata: Any = error.trailing_metadata() or ()
    return next((value for key, value in metadata if key == ERROR_KEY), None)
