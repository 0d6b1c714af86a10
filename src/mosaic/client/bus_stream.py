"""A subscription as a resumable stream: its credits, its cursors, and what was seen already."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from mosaic.client.requests import new_request
from mosaic.client.seen_of_run import SeenOfRun
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.runbus import ControlKind
from mosaic.contracts.schema_check import shown
from mosaic.errors import ConfigError
from mosaic.wire.bus import BusBatch, BusNotice, count_samples, notice_from_proto
from mosaic.wire.generated import trainer_pb2 as pb

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
                f"window is {shown(window)}; it must be 1 to {MAX_WINDOW:,}",
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
        self._runs: dict[str, SeenOfRun] = {}
        self._send: Send | None = None
        # gRPC asks for it in a thread of its own, where an error would look like a lost daemon.
        self._as_request()

    def request(self) -> Any:
        self.close()
        self._owed = 0
        for run in self._runs.values():
            run.begin_again()
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
        run = self._runs.setdefault(run_id, SeenOfRun())
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


def names_in(names: Iterable[str]) -> tuple[str, ...]:
    """Each once; one name alone is taken for what was meant."""
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))


def checked_cursors(cursors: Mapping[str, int]) -> dict[str, int]:
    for run_id, cursor in cursors.items():
        if not isinstance(cursor, int) or not 0 <= cursor <= MAX_CURSOR:
            raise ConfigError(
                f"The cursor of {run_id} is {shown(cursor)}, which is no offset in a journal",
                hint="pass the next_cursor of a batch, or 0 for the beginning of the run",
                field=f"cursors.{run_id}",
            )
    return dict(cursors)
