"""Searches the logs of runs, in a process of its own that is ended when it takes too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from mosaic.contracts.history import LogMatch
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.registry.registry import RunFilter
from mosaic.errors import ConfigError, RequestError, StoreError, from_wire
from mosaic.paths import Home

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
        "-Wignore",  # a strange pattern earns a warning, and nobody would read it
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
