"""The logs of runs: followed through their rotation until the run is over, and searched.

A cursor is `stream:inode:offset`: rotation renames a file but keeps its inode, so a client that
reconnects continues exactly after what it has. A search runs in a process of its own that is ended
when it takes too long.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.contracts.metrics import LogMatch
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.bus.run_bus import RunFeed
from mosaic.daemon.registry.reader import RunFilter
from mosaic.errors import ConfigError, RequestError, StoreError, from_wire
from mosaic.foreign.files import open_regular
from mosaic.paths import Home
from mosaic.telemetry.log_search import log_files

CHUNK_BYTES = 262_144
POLL_S = 0.2


@dataclass(frozen=True)
class LogPiece:
    stream: str
    data: bytes
    cursor: str


class LogTail:
    """Reads one log forwards: its rotated files from the oldest on, then the current one."""

    def __init__(self, stream: str, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._fd: int | None = None
        self._inode = 0

    def start_after(self, cursor: str) -> None:
        """After what a client already has; from the oldest file when that one is gone."""
        try:
            _, inode, offset = cursor.split(":")
            wanted, position = int(inode), int(offset)
            if position < 0:
                raise ValueError
        except ValueError:
            raise ConfigError(f"{cursor!r} is not a log cursor", field="after") from None
        for path in log_files(self._path):
            if not self._open(path) or self._fd is None or self._inode != wanted:
                continue
            # A position beyond the end belongs to an older file whose inode was reused.
            if position <= os.fstat(self._fd).st_size:
                os.lseek(self._fd, position, os.SEEK_SET)
                return
        self.close()

    def start_at_tail(self, lines: int) -> None:
        """At the last few lines of the current file; 0 means the beginning of all files."""
        if not lines or not self._open(self._path) or self._fd is None:
            return
        size = os.fstat(self._fd).st_size
        os.lseek(self._fd, _tail_start(self._fd, size, lines), os.SEEK_SET)

    def read(self) -> LogPiece | None:
        while True:
            if self._fd is None and not self._open_oldest():
                return None
            if self._fd is not None and (data := os.read(self._fd, CHUNK_BYTES)):
                position = os.lseek(self._fd, 0, os.SEEK_CUR)
                return LogPiece(self._stream, data, f"{self._stream}:{self._inode}:{position}")
            if not self._open_next():
                return None

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open_oldest(self) -> bool:
        return any(self._open(path) for path in log_files(self._path))

    def _open_next(self) -> bool:
        """The file after the one we have read to its end, if it was rotated away meanwhile."""
        inodes = [_inode(path) for path in log_files(self._path)]
        if inodes and inodes[-1] in (self._inode, None):
            return False
        if self._inode not in inodes:
            self.close()
            return self._open_oldest()
        follower = log_files(self._path)[inodes.index(self._inode) + 1]
        return self._open(follower)

    def _open(self, path: Path) -> bool:
        try:
            fd = open_regular(path, follow_links=False)
        except OSError:
            return False  # there is none, or what has its name is not a log
        self.close()
        self._fd, self._inode = fd, os.fstat(fd).st_ino
        return True


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _tail_start(fd: int, size: int, lines: int) -> int:
    """The offset at which the last `lines` lines begin."""
    position, newlines = size, 0
    while position > 0:
        length = min(CHUNK_BYTES, position)
        position -= length
        block = os.pread(fd, length, position)
        for index in range(len(block) - 1, -1, -1):
            if block[index] == 0x0A and position + index != size - 1:
                newlines += 1
                if newlines == lines:
                    return position + index + 1
    return 0


async def stream_logs(
    run_id: str,
    paths: dict[str, Path],
    tail_lines: int,
    after: list[str],
    is_over: Callable[[], bool],
    feed: RunFeed,
) -> AsyncIterator[LogPiece]:
    """Pieces until everything is read and `is_over` says that nothing more will come."""
    tails = {stream: LogTail(stream, path) for stream, path in paths.items()}
    try:
        for tail in tails.values():
            tail.start_at_tail(tail_lines)
        for cursor in after:
            stream = cursor.partition(":")[0]
            if stream in tails:
                tails[stream].start_after(cursor)
        with feed.watch(run_id) as watcher:
            while True:
                # Asked before reading: what is written before the end is read after this look.
                was_over = is_over()
                found = False
                for tail in tails.values():
                    while piece := tail.read():
                        found = True
                        yield piece
                if was_over and not found:
                    return
                if not found:
                    await watcher.wait(POLL_S)
    finally:
        for tail in tails.values():
            tail.close()


STREAMS = ("stdout", "stderr")
DEFAULT_LIMIT = 1000
MAX_LIMIT = 100_000
# For the first sign of life; the next ones come with every block of a log.
START_S = 30.0
SILENCE_S = 5.0
TOTAL_S = 90.0
# A line of the answer: a shown line, and in JSON six characters for one.
_MAX_ANSWER_BYTES = 65_536


class LogQuery(NamedTuple):
    text: str
    is_regex: bool
    ignore_case: bool
    stream: str
    limit: int


class _Log(NamedTuple):
    run_id: str
    stream: str
    path: str


class LogSearch:
    def __init__(
        self,
        home: Home,
        summary: Callable[[str], Awaitable[RunRecord]],
        list_runs: Callable[[RunFilter], Awaitable[tuple[list[RunRecord], int]]],
    ) -> None:
        self._home = home
        self._summary = summary
        self._list_runs = list_runs

    async def search(
        self, run_ids: Sequence[str], query: LogQuery
    ) -> AsyncGenerator[LogMatch, None]:
        """Matches of these runs, or of all, newest run first."""
        if query.stream not in ("", *STREAMS):
            raise ConfigError(f"{query.stream!r} is not one of stdout, stderr", field="stream")
        if run_ids:
            records = [await self._summary(run_id) for run_id in run_ids]
        else:
            records, _ = await self._list_runs(RunFilter())
        logs = self._logs(records, query.stream)
        question = {
            "text": query.text,
            "is_regex": query.is_regex,
            "ignore_case": query.ignore_case,
            "limit": min(query.limit or DEFAULT_LIMIT, MAX_LIMIT),
            "logs": [log.path for log in logs],
        }
        async with contextlib.aclosing(_answers(question, logs)) as answers:
            async for log, line_number, line in answers:
                found = logs[log]
                yield LogMatch(found.run_id, found.stream, line_number, line)

    def _logs(self, records: Sequence[RunRecord], stream: str) -> list[_Log]:
        streams = (stream,) if stream else STREAMS
        return [
            _Log(record.run_id, name, str(self._home.run(record.run_id).log(record.worker, name)))
            for record in records
            for name in streams
        ]


async def _answers(
    question: dict[str, Any], logs: Sequence[_Log]
) -> AsyncGenerator[tuple[int, int, str], None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-Wignore",  # an odd pattern causes a warning that nobody would read
        "-m",
        "mosaic.telemetry.log_search_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_MAX_ANSWER_BYTES,
    )
    assert process.stdin is not None and process.stdout is not None
    deadline = time.monotonic() + TOTAL_S
    at: int | None = None
    try:
        with contextlib.suppress(ConnectionError):  # it died: the missing answer says so
            process.stdin.write(json.dumps(question).encode())
            await process.stdin.drain()
        process.stdin.close()
        while True:
            try:
                patience_s = START_S if at is None else SILENCE_S
                line = await asyncio.wait_for(process.stdout.readline(), patience_s)
            except TimeoutError:
                raise _too_slow(logs, at) from None
            if not line:
                raise StoreError("The search of the logs ended by itself", hint="try it again")
            answer = json.loads(line)
            if "found" in answer:
                yield tuple(answer["found"])
            elif "at" in answer:
                at = answer["at"]
            elif "error" in answer:
                raise from_wire(json.dumps(answer["error"]))
            else:
                return
            if time.monotonic() > deadline:
                raise RequestError(
                    f"The search was ended after {TOTAL_S:.0f} s, at {_place(logs, at)}",
                    hint="name the runs to search, or search for a plain text",
                )
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _too_slow(logs: Sequence[_Log], at: int | None) -> RequestError:
    return RequestError(
        f"The pattern takes too long on {_place(logs, at)}",
        hint="repetitions in repetitions, such as (a+)+, can take for ever: make it simpler",
        field="text",
    )


def _place(logs: Sequence[_Log], at: int | None) -> str:
    if at is None or at >= len(logs):
        return "the first of the logs"
    return f"the {logs[at].stream} of run {logs[at].run_id}"
