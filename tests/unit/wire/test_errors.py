"""Which status each error becomes, and what a client makes of a status without one."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from mosaic import errors
from mosaic.errors import MosaicError, TrainerUnreachableError, error_codes
from mosaic.wire.errors import (
    ERROR_KEY,
    MAX_ERROR_BYTES,
    _payload,
    from_rpc,
    is_connection_lost,
    raise_from_rpc,
    status_code,
)


class Status(grpc.RpcError):
    """What a client sees of a failed call."""

    def __init__(self, code: grpc.StatusCode, details: str = "", payload: bytes | None = None):
        self._code, self._details = code, details
        self._metadata = ((ERROR_KEY, payload),) if payload is not None else None

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Any:
        return self._metadata


@pytest.mark.parametrize("cls", error_codes().values(), ids=error_codes())
def test_every_error_is_rebuilt_as_its_own_class(cls: type[MosaicError]) -> None:
    sent = cls("went wrong", hint="do this", field="a.b", number=3)
    arrived = from_rpc(Status(status_code(sent), payload=_payload(sent)))
    assert type(arrived) is cls
    assert arrived.to_dict() == sent.to_dict()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("x"), grpc.StatusCode.INVALID_ARGUMENT),
        (errors.UnknownRunError("x"), grpc.StatusCode.NOT_FOUND),
        (errors.UnknownWorkerError("x"), grpc.StatusCode.NOT_FOUND),
        (errors.RunStateError("x"), grpc.StatusCode.FAILED_PRECONDITION),
        (errors.UnauthenticatedError("x"), grpc.StatusCode.UNAUTHENTICATED),
        (errors.DiskSpaceError("x"), grpc.StatusCode.RESOURCE_EXHAUSTED),
        (errors.DependencyError("x"), grpc.StatusCode.FAILED_PRECONDITION),
        (errors.StoreError("x"), grpc.StatusCode.INTERNAL),
        (errors.CorruptStoreError("x"), grpc.StatusCode.DATA_LOSS),
        (errors.MosaicError("x"), grpc.StatusCode.INTERNAL),
    ],
)
def test_status_says_what_kind_of_error(error: MosaicError, code: grpc.StatusCode) -> None:
    assert status_code(error) is code


def test_huge_error_keeps_its_class_within_the_metadata_limit() -> None:
    huge = errors.ConfigError("名" * 100_000, hint="h" * 100_000, field="f" * 100_000)
    payload = _payload(huge)
    assert len(payload) < 6_000
    assert type(from_rpc(Status(grpc.StatusCode.INTERNAL, payload=payload))) is errors.ConfigError


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED])
def test_silence_means_the_trainer_is_unreachable(code: grpc.StatusCode) -> None:
    with pytest.raises(TrainerUnreachableError):
        raise_from_rpc(Status(code, "Socket closed"))


def test_unknown_method_points_at_the_versions() -> None:
    assert "version" in from_rpc(Status(grpc.StatusCode.UNIMPLEMENTED)).hint


def test_only_an_unexplained_loss_is_worth_another_attempt() -> None:
    assert is_connection_lost(Status(grpc.StatusCode.UNAVAILABLE))
    assert is_connection_lost(Status(grpc.StatusCode.CANCELLED))
    assert not is_connection_lost(Status(grpc.StatusCode.NOT_FOUND))
    explained = Status(grpc.StatusCode.UNAVAILABLE, payload=_payload(MosaicError("x")))
    assert not is_connection_lost(explained)


@pytest.mark.parametrize(
    "text", ["x" * 10_000, "\U0001f680" * 5_000, "\x01" * 5_000, "\ud800" * 5_000]
)
def test_a_long_error_stays_itself_and_fits_into_a_message(text: str) -> None:
    sent = errors.ConfigError(text, hint=text, field="environment.A", other=text)
    data = _payload(sent)
    assert len(data) <= MAX_ERROR_BYTES
    arrived = from_rpc(Status(status_code(sent), payload=data))
    assert type(arrived) is errors.ConfigError
    assert arrived.details == {"field": "environment.A"}
    assert text.startswith(arrived.message) and len(arrived.message) > 50


def test_a_message_that_is_too_large_is_the_callers_fault() -> None:
    error = from_rpc(Status(grpc.StatusCode.RESOURCE_EXHAUSTED, "Received message larger than max"))
    assert isinstance(error, errors.RequestError)
    assert "too large" in error.message
