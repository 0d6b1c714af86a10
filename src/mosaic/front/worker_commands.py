"""What a person tells a worker while it runs, and what it answers. Nothing here knows a command.

A command is one JSON object on the worker's standard input; `request` tells its answer from others.
A worker that answers does so by `Run.answer`, which is a heartbeat in the journal.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mosaic.contracts.run_files import RunFiles
from mosaic.errors import ConfigError, RequestError

if TYPE_CHECKING:
    from mosaic.contracts.run_record import RunRecord
    from mosaic.wire.answers import EventBatch

ANSWER_TIMEOUT_S = 5.0
MAX_FILE_BYTES = 500_000  # the whole command has to fit into one line
_LOOK_S = 0.05
_MAX_LINE_BYTES = 1_048_576


class RunTeller(Protocol):
    """The part of a client that is needed here."""

    def get_run(self, run_id: str) -> RunRecord: ...
    def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]: ...
    def stream_events(
        self, run_id: str, cursor: int = 0, types: Iterable[str] = (), follow: bool = False
    ) -> Iterable[EventBatch]: ...


class AsyncRunTeller(Protocol):
    """The same of a client that lives in asyncio."""

    async def get_run(self, run_id: str) -> RunRecord: ...
    async def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]: ...
    def stream_events(
        self, run_id: str, cursor: int = 0, types: Iterable[str] = (), follow: bool = False
    ) -> AsyncGenerator[EventBatch, None]: ...


def read_command(words: Sequence[str]) -> dict[str, Any]:
    """`goal kind=exploit` is {"command": "goal", "kind": "exploit"}; words without `=` are its
    `arguments`. `@FILE` in place of a value is the text of that file; `@@` is an `@`. A single word
    that begins with a brace is the command itself, as JSON.
    """
    first, *others = words
    if first.startswith("{") and not others:
        try:
            found = json.loads(first)
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"This is no JSON: {error}", hint='for example {"command": "stop"}', field="command"
            ) from error
        if not isinstance(found, dict):
            raise ConfigError("A command is a JSON object", field="command")
        return found
    command: dict[str, Any] = {"command": first}
    arguments = []
    for word in others:
        name, equals, text = word.partition("=")
        if equals and name.isidentifier():
            command[name] = _value(text)
        else:
            arguments.append(_value(word))
    if arguments:
        command["arguments"] = arguments
    return command


def ask(
    client: RunTeller, run_id: str, command: dict[str, Any], timeout_s: float = ANSWER_TIMEOUT_S
) -> dict[str, Any] | None:
    """Send a command; returns the worker's answer, or None when none came in time.

    Raises RequestError where it could not be sent.
    """
    request = secrets.token_hex(8)
    cursor = _end_of_journal(client.get_run(run_id))
    _require_sent(client.control(run_id, {**command, "request": request}))
    deadline = time.monotonic() + timeout_s
    while True:
        for batch in client.stream_events(run_id, cursor, ("heartbeat",)):
            cursor = max(cursor, batch.next_cursor)
            if (answer := _answer_in(batch, request)) is not None:
                return answer
        if time.monotonic() > deadline:
            return None
        time.sleep(_LOOK_S)


async def ask_async(
    client: AsyncRunTeller,
    run_id: str,
    command: dict[str, Any],
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> dict[str, Any] | None:
    """`ask` for programs that live in asyncio, such as the window."""
    request = secrets.token_hex(8)
    record = await client.get_run(run_id)
    cursor = await asyncio.to_thread(_end_of_journal, record)
    _require_sent(await client.control(run_id, {**command, "request": request}))
    deadline = time.monotonic() + timeout_s
    while True:
        async with aclosing(client.stream_events(run_id, cursor, ("heartbeat",))) as batches:
            async for batch in batches:
                cursor = max(cursor, batch.next_cursor)
                if (answer := _answer_in(batch, request)) is not None:
                    return answer
        if time.monotonic() > deadline:
            return None
        await asyncio.sleep(_LOOK_S)


def _require_sent(reply: dict[str, Any]) -> None:
    if not reply.get("ok"):
        raise RequestError(
            f"The command cannot be sent: {reply.get('error', 'no reason was given')}",
            hint="`mosaic show RUN` says whether it runs",
        )


def _value(text: str) -> str:
    if text.startswith("@@"):
        return text[1:]
    if not text.startswith("@"):
        return text
    path = Path(text[1:]).expanduser()
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise ConfigError(f"{path} has more than {MAX_FILE_BYTES:,} bytes", field="command")
        return content.decode()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ConfigError(f"{path} cannot be read: {reason}", field="command") from error


def _answer_in(batch: EventBatch, request: str) -> dict[str, Any] | None:
    for event in batch.events():
        payload = event.get("payload")
        answer = payload.get("answer") if isinstance(payload, dict) else None
        if isinstance(answer, dict) and answer.get("request") == request:
            return answer
    return None


def _end_of_journal(record: RunRecord) -> int:
    """The cursor behind its last whole line; 0, which takes longer, where it is not here."""
    directory = record.paths.get("run_directory", "")
    if not directory:
        return 0
    try:
        with RunFiles(Path(directory)).journal.open("rb") as file:
            size = file.seek(0, 2)
            start = file.seek(max(0, size - _MAX_LINE_BYTES))
            return start + file.read(size - start).rfind(b"\n") + 1
    except OSError:
        return 0
