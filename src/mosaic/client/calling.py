"""What the groups of methods need of the client they are part of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Protocol, TypeVar

from mosaic.client.calls import Call
from mosaic.client.resumable_streams import ResumableStream

T = TypeVar("T")


class Calling(Protocol):
    def _call(self, call: Call[T]) -> T: ...


class AsyncCalling(Protocol):
    async def _call(self, call: Call[T]) -> T: ...


class Streaming(Calling, Protocol):
    def _stream(self, stream: ResumableStream[T]) -> Generator[T, None, None]: ...


class AsyncStreaming(AsyncCalling, Protocol):
    def _stream(self, stream: ResumableStream[T]) -> AsyncGenerator[T, None]: ...
