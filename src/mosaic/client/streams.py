"""Streams that outlive the daemon: each remembers how far it got and asks for the rest."""

from __future__ import annotations

import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, TypeVar

from mosaic.client.calls import new_request
from mosaic.contracts.bundles import InstallProgress, InstallRequest
from mosaic.contracts.metrics import LogMatch
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.runbus import ControlKind
from mosaic.contracts.schema_check import shortened
from mosaic.errors import ConfigError, TrainerUnreachableError
from mosaic.wire.answers import (
    BusBatch,
    BusNotice,
    EventBatch,
    LogChunk,
    count_samples,
    notice_from_proto,
)
from mosaic.wire.bundles import progress_from_proto, request_fields
from mosaic.wire.convert import (
    summary_from_proto,
)
from mosaic.wire.generated import trainer_pb2 as pb

T_co = TypeVar("T_co", covariant=True)


class ResumableStream(Protocol[T_co]):
    method: ClassVar[str]
    # An endless stream that ends has lost its daemon.
    is_endless: ClassVar[bool]

    def request(self) -> Any:
        """What to ask for now, given what has arrived."""

    def accept(self, message: Any) -> Iterator[T_co]:
        """What the caller has not seen yet."""


class RunWatch:
    method: ClassVar[str] = "WatchRuns"
    is_endless: ClassVar[bool] = True

    def __init__(self, run_ids: Iterable[str]) -> None:
        self._request = new_request(pb.WatchRunsRequest, run_ids=run_ids)
        self._last: dict[str, RunRecord] = {}

    def request(self) -> pb.WatchRunsRequest:
        # Always the whole picture: its records come in no order of revision, so one number could
        # not say which of them are missing. What was delivered already is skipped below.
        return self._request

    def accept(self, message: pb.RunRecord) -> Iterator[RunRecord]:
        record = summary_from_proto(message)
        if self._last.get(record.run_id) != record:
            self._last[record.run_id] = record
            yield record


class LogStream:
    method: ClassVar[str] = "StreamLog"
    is_endless: ClassVar[bool] = False

    def __init__(self, run_id: str, stream: str, tail_lines: int, follow: bool) -> None:
        self._request = new_request(
            pb.StreamLogRequest, run_id=run_id, stream=stream, tail_lines=tail_lines, follow=follow
        )
        self._cursors: dict[str, str] = {}

    def request(self) -> pb.StreamLogRequest:
        del self._request.after[:]
        self._request.after.extend(self._cursors.values())
        return self._request

    def accept(self, message: pb.LogChunk) -> Iterator[LogChunk]:
        if message.cursor:
            self._cursors[message.stream] = message.cursor
        yield LogChunk(message.stream, message.data)


class EventStream:
    method: ClassVar[str] = "StreamEvents"
    is_endless: ClassVar[bool] = False

    def __init__(self, run_id: str, cursor: int, types: Iterable[str], follow: bool) -> None:
        self._request = new_request(
            pb.StreamEventsRequest, run_id=run_id, cursor=cursor, types=types, follow=follow
        )

    def request(self) -> pb.StreamEventsRequest:
        return self._request

    def accept(self, message: pb.EventBatch) -> Iterator[EventBatch]:
        self._request.cursor = message.next_cursor
        yield EventBatch(tuple(message.events), message.next_cursor)


class ArchiveStream:
    """Cannot be resumed: a second archive of a run may have other bytes."""

    method: ClassVar[str] = "ArchiveRun"
    is_endless: ClassVar[bool] = False

    def __init__(self, run_id: str) -> None:
        self._request = new_request(pb.ArchiveRunRequest, run_id=run_id)
        self._has_begun = False

    def request(self) -> pb.ArchiveRunRequest:
        if self._has_begun:
            raise TrainerUnreachableError(
                "The daemon went away while it sent the archive", hint="archive the run again"
            )
        return self._request

    def accept(self, message: pb.ArchiveChunk) -> Iterator[bytes]:
        self._has_begun = True
        yield message.data


class InstallStream:
    """Asked again after a lost connection, it follows the install, or begins it once more."""

    method: ClassVar[str] = "InstallBundle"
    is_endless: ClassVar[bool] = False

    def __init__(self, request: InstallRequest) -> None:
        self._request = _install_message(request)

    def request(self) -> pb.InstallBundleRequest:
        return self._request

    def accept(self, message: pb.InstallProgress) -> Iterator[InstallProgress]:
        yield progress_from_proto(message)


class PackStream:
    method: ClassVar[str] = "PackBundle"
    is_endless: ClassVar[bool] = False

    def __init__(self, request: InstallRequest, folder: str) -> None:
        self._request = new_request(
            pb.PackBundleRequest, install=_install_message(request), folder=folder
        )

    def request(self) -> pb.PackBundleRequest:
        return self._request

    def accept(self, message: pb.InstallProgress) -> Iterator[InstallProgress]:
        yield progress_from_proto(message)


def _install_message(request: InstallRequest) -> pb.InstallBundleRequest:
    fields = request_fields(request)
    if request.from_folder:  # seen from here: the daemon's working directory is another
        fields["from_folder"] = str(Path(request.from_folder).expanduser().absolute())
    return new_request(pb.InstallBundleRequest, **fields)


class LogSearchStream:
    """Asked again after a lost connection, it gives the same matches: those seen are skipped."""

    method: ClassVar[str] = "SearchLogs"
    is_endless: ClassVar[bool] = False

    def __init__(
        self,
        text: str,
        run_ids: Iterable[str],
        is_regex: bool,
        ignore_case: bool,
        stream: str,
        limit: int,
    ) -> None:
        self._request = new_request(
            pb.SearchLogsRequest,
            run_ids=run_ids,
            text=text,
            is_regex=is_regex,
            ignore_case=ignore_case,
            stream=stream,
            limit=limit,
        )
        self._seen = 0
        self._to_skip = 0

    def request(self) -> pb.SearchLogsRequest:
        self._to_skip = self._seen
        return self._request

    def accept(self, message: pb.LogMatch) -> Iterator[LogMatch]:
        if self._to_skip:
            self._to_skip -= 1
            return
        self._seen += 1
        yield LogMatch(message.run_id, message.stream, message.line_number, message.line)


class RepeatFilter:
    """While samples are held back, lifecycle events come ahead of the cursor. A client that
    continues from that cursor after a lost connection is sent them again.
    """

    def __init__(self) -> None:
        self._is_starved = False
        self._has_ended = False
        # Lines ahead of the cursor, from this connection and from those before it.
        self._ahead: set[bytes] = set()
        self._repeated: set[bytes] = set()

    def connection_lost(self) -> None:
        """What came ahead of the cursor will come once more."""
        self._is_starved = False
        self._repeated |= self._ahead
        self._ahead.clear()

    def news(self, notice: BusNotice | None) -> BusNotice | None:
        """The notice, unless it was given before."""
        if notice is None:
            return None
        self._is_starved = notice.kind is ControlKind.STARVED
        if notice.kind is ControlKind.ENDED:
            if self._has_ended:
                return None
            self._has_ended = True
        return notice

    def new_lines(self, lines: tuple[bytes, ...]) -> tuple[bytes, ...]:
        """Of lines that came with or after the latest notice, those not seen before."""
        if self._is_starved:
            self._ahead.update(lines)
        if self._repeated:
            known = self._repeated.intersection(lines)
            self._repeated -= known
            return tuple(line for line in lines if line not in known)
        return lines

    def catch_up(self) -> None:
        """The cursor has passed everything that came ahead of it on this connection."""
        if not self._is_starved:
            self._ahead.clear()


BusItem = BusBatch | BusNotice
Send = Callable[[pb.SubscribeRequest | None], None]
# Makes the requests of a new connection: an iterator that begins with the stream's first request
# and goes on with whatever is handed to the function beside it, until that is None.
OpenRequests = Callable[["BusStream"], tuple[Any, Send]]
MAX_WINDOW = 2**31
MAX_CURSOR = 2**63 - 1


class BusStream:
    """Named runs: ends when all of them have ended."""

    method: ClassVar[str] = "Subscribe"
    is_endless: ClassVar[bool] = False

    def __init__(
        self,
        open_requests: OpenRequests,
        run_ids: tuple[str, ...],
        types: tuple[str, ...],
        cursors: Mapping[str, int] | None,
        window: int,
        lossless: bool,
    ) -> None:
        if not isinstance(window, int) or not 1 <= window <= MAX_WINDOW:
            raise ConfigError(
                f"window is {shortened(window)}; it must be 1 to {MAX_WINDOW:,}",
                hint="so many samples may be on their way to you",
                field="window",
            )
        self._open_requests = open_requests
        self._run_ids = run_ids
        self._types = types
        self._cursors = checked_cursors(cursors or {})
        self._window = window
        self._lossless = lossless
        # Samples the caller is done with, and for which no new credit was granted yet.
        self._owed = 0
        self._runs: dict[str, RepeatFilter] = {}
        self._send: Send | None = None
        # gRPC asks for it in a thread of its own, where an error would look like a lost daemon.
        self._as_request()

    def request(self) -> Any:
        self.close()
        self._owed = 0
        for run in self._runs.values():
            run.connection_lost()
        requests, self._send = self._open_requests(self)
        return requests

    def first_request(self) -> pb.SubscribeRequest:
        return self._as_request()

    def _as_request(self) -> pb.SubscribeRequest:
        return new_request(
            pb.SubscribeRequest,
            run_ids=self._run_ids,
            types=self._types,
            cursors=self._cursors,
            credits=self._window,
            lossless=self._lossless,
        )

    def accept(self, message: pb.BusMessage) -> Iterator[BusItem]:
        run_id = message.run_id
        run = self._runs.setdefault(run_id, RepeatFilter())
        lines = tuple(message.events)
        notice = run.news(notice_from_proto(message))
        fresh = run.new_lines(lines)
        if message.next_cursor > self._cursors.get(run_id, -1) and notice is None:
            run.catch_up()
        self._remember(run_id, message.next_cursor, notice)
        if notice is not None:
            yield notice
        if fresh:
            yield BusBatch(run_id, fresh, message.next_cursor)
        # Here the caller has come back for more.
        self._pay(count_samples(lines))

    def close(self) -> None:
        """End the requests of the connection there is, if there is one."""
        if self._send is not None:
            self._send(None)
            self._send = None

    def _remember(self, run_id: str, cursor: int, notice: BusNotice | None) -> None:
        self._cursors[run_id] = cursor

    def _pay(self, samples: int) -> None:
        self._owed += samples
        if self._owed * 2 >= self._window and self._send is not None:
            self._send(pb.SubscribeRequest(credits=self._owed))
            self._owed = 0


class AllRunsStream(BusStream):
    """All runs, also those to come: never ends by itself."""

    is_endless: ClassVar[bool] = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._began = time.time()
        self.is_resuming = False

    def first_request(self) -> pb.SubscribeRequest:
        self.is_resuming = True
        return super().first_request()

    def meet(self, records: list[RunRecord]) -> None:
        """The runs there are after the daemon was lost. Those that began meanwhile are followed
        from their start; they would be taken up where they are now otherwise."""
        for record in records:
            if record.created_at >= self._began and record.run_id not in self._runs:
                self._cursors.setdefault(record.run_id, 0)

    def _remember(self, run_id: str, cursor: int, notice: BusNotice | None) -> None:
        super()._remember(run_id, cursor, notice)
        if notice is not None and notice.kind is ControlKind.ENDED:
            del self._cursors[run_id]


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Each once; one name alone is taken for what was meant."""
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def checked_cursors(cursors: Mapping[str, int]) -> dict[str, int]:
    for run_id, cursor in cursors.items():
        if not isinstance(cursor, int) or not 0 <= cursor <= MAX_CURSOR:
            raise ConfigError(
                f"The cursor of {run_id} is {shortened(cursor)}, which is no offset in a journal",
                hint="pass the next_cursor of a batch, or 0 for the beginning of the run",
                field=f"cursors.{run_id}",
            )
    return dict(cursors)


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
        # The thread that sends the requests would wait for the next one forever.
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
