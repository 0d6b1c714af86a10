"""The client's methods that search logs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterable, Iterator
from typing import ClassVar

from mosaic.client.calling import AsyncStreaming, Streaming
from mosaic.client.requests import new_request
from mosaic.contracts.history import LogMatch
from mosaic.wire.generated import trainer_pb2 as pb


class LogSearchStream:
    """Asked again after a lost connection, it gives the same matches: those seen are skipped."""

    method: ClassVar[str] = "SearchLogs"
    is_endless: ClassVar[bool] = False

    def __init__(self, request: pb.SearchLogsRequest) -> None:
        self._request = request
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


def _request(
    text: str,
    run_ids: Iterable[str],
    is_regex: bool,
    ignore_case: bool,
    stream: str,
    limit: int,
) -> pb.SearchLogsRequest:
    return new_request(
        pb.SearchLogsRequest,
        run_ids=run_ids,
        text=text,
        is_regex=is_regex,
        ignore_case=ignore_case,
        stream=stream,
        limit=limit,
    )


class LogSearchMethods:
    def search_logs(
        self: Streaming,
        text: str,
        run_ids: Iterable[str] = (),
        *,
        is_regex: bool = False,
        ignore_case: bool = False,
        stream: str = "",
        limit: int = 0,
    ) -> Generator[LogMatch, None, None]:
        """Lines with this text (or pattern) in the logs of these runs, or of all, newest first.

        `stream` is "stdout", "stderr" or "" for both; without a limit at most 1000 lines come.
        """
        return self._stream(
            LogSearchStream(_request(text, run_ids, is_regex, ignore_case, stream, limit))
        )


class AsyncLogSearchMethods:
    def search_logs(
        self: AsyncStreaming,
        text: str,
        run_ids: Iterable[str] = (),
        *,
        is_regex: bool = False,
        ignore_case: bool = False,
        stream: str = "",
        limit: int = 0,
    ) -> AsyncGenerator[LogMatch, None]:
        """Lines with this text (or pattern) in the logs of these runs, or of all, newest first.

        `stream` is "stdout", "stderr" or "" for both; without a limit at most 1000 lines come.
        """
        return self._stream(
            LogSearchStream(_request(text, run_ids, is_regex, ignore_case, stream, limit))
        )
