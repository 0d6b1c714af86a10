"""Streams that outlive the daemon: each remembers how far it got and asks for the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol, TypeVar

from mosaic.client.requests import new_request
from mosaic.contracts.run_record import RunRecord
from mosaic.wire.answers import EventBatch, LogChunk
from mosaic.wire.convert import summary_from_proto
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
