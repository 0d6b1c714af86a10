"""The asynchronous client's methods about live events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from types import TracebackType

from mosaic.client import calls
from mosaic.client.bus_stream import AllRunsStream, BusItem, BusStream, Send, names_in
from mosaic.client.calling import AsyncStreaming
from mosaic.wire.generated import trainer_pb2 as pb


class AsyncSubscription:
    """Iterate over it; leaving the `async with` block, or `aclose`, ends it."""

    def __init__(self, stream: BusStream, items: AsyncGenerator[BusItem, None]) -> None:
        self._stream = stream
        self._items = items

    async def __aenter__(self) -> AsyncSubscription:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[BusItem]:
        return self

    async def __anext__(self) -> BusItem:
        try:
            return await anext(self._items)
        except BaseException:
            self._stream.close()
            raise

    async def aclose(self) -> None:
        self._stream.close()
        await self._items.aclose()


class AsyncBusMethods:
    def subscribe(
        self: AsyncStreaming,
        run_ids: Iterable[str] = (),
        *,
        types: Iterable[str] = (),
        cursors: Mapping[str, int] | None = None,
        window: int = 10_000,
        lossless: bool = False,
    ) -> AsyncSubscription:
        """See `TrainerClient.subscribe`."""
        names = names_in(run_ids)
        kind = BusStream if names else AllRunsStream

        def open_requests(stream: BusStream) -> tuple[AsyncIterator[pb.SubscribeRequest], Send]:
            further: asyncio.Queue[pb.SubscribeRequest | None] = asyncio.Queue()

            async def requests() -> AsyncIterator[pb.SubscribeRequest]:
                if isinstance(stream, AllRunsStream) and stream.is_resuming:
                    stream.meet(await self._call(calls.list_runs((), (), "", 0)))
                yield stream.first_request()
                while (request := await further.get()) is not None:
                    yield request

            return requests(), further.put_nowait

        stream = kind(open_requests, names, names_in(types), cursors, window, lossless)
        return AsyncSubscription(stream, self._stream(stream))
