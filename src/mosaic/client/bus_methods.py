"""The client's methods about live events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from mosaic.client import calls
from mosaic.client.bus_stream import AllRunsStream, BusItem, BusStream, Send, names_in
from mosaic.client.calling import Streaming
from mosaic.wire.generated import trainer_pb2 as pb


class Subscription:
    """Iterate over it, in one thread; leaving the `with` block, or `close`, ends it."""

    def __init__(self, stream: BusStream, items: Iterator[BusItem]) -> None:
        self._stream = stream
        self._items = items

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # The thread that sends the requests would wait for the next one for ever.
        self._stream.close()

    def __iter__(self) -> Iterator[BusItem]:
        return self

    def __next__(self) -> BusItem:
        try:
            return next(self._items)
        except BaseException:
            self._stream.close()
            raise

    def close(self) -> None:
        self._stream.close()
        close: Any = getattr(self._items, "close", None)
        if close is not None:
            close()


class BusMethods:
    def subscribe(
        self: Streaming,
        run_ids: Iterable[str] = (),
        *,
        types: Iterable[str] = (),
        cursors: Mapping[str, int] | None = None,
        window: int = 10_000,
        lossless: bool = False,
    ) -> Subscription:
        """Live events of these runs, or of all runs, also of those to come.

        Runs without a cursor start with what happens now; 0 is the beginning of a run. At most
        `window` samples are on their way at any time. A caller who is slower than the runs is
        told with a `BusNotice` that it is STARVED, and with RESUMED how many samples were
        coalesced; with `lossless` it gets all of them, later. Goes on without gap when the daemon
        dies and comes back.
        """
        names = names_in(run_ids)
        kind = BusStream if names else AllRunsStream

        def open_requests(stream: BusStream) -> tuple[Iterator[pb.SubscribeRequest], Send]:
            further: SimpleQueue[pb.SubscribeRequest | None] = SimpleQueue()

            def requests() -> Iterator[pb.SubscribeRequest]:
                if isinstance(stream, AllRunsStream) and stream.is_resuming:
                    stream.meet(self._call(calls.list_runs((), (), "", 0)))
                yield stream.first_request()
                yield from iter(further.get, None)

            return requests(), further.put

        stream = kind(open_requests, names, names_in(types), cursors, window, lossless)
        return Subscription(stream, self._stream(stream))
