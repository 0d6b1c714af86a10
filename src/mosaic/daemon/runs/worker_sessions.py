"""Workers that speak gRPC: handshake with the attempt's token, then journal chunks by offset."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.events import EVENT_SCHEMA_VERSION, PROTOCOL
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.errors import (
    CorruptStoreError,
    RunStateError,
    UnauthenticatedError,
    WorkerProtocolError,
)
from mosaic.files import read_bounded
from mosaic.paths import Home
from mosaic.runhost.redactor import mask_in_place, secret_patterns
from mosaic.telemetry.journal.files import append_chunk

MAX_CHUNK_BYTES = 8_000_000
MAX_TOKEN = 1000


@dataclass(frozen=True)
class WorkerSession:
    token: str
    schema_version: int
    journal_offset: int


class WorkerSessions:
    def __init__(
        self,
        home: Home,
        find_run: Callable[[str], ActiveRun],
        hidden_values: Callable[[ActiveRun], Iterable[str]],
    ) -> None:
        """`hidden_values` are those of the run's variables that no file may hold."""
        self._home = home
        self._find_run = find_run
        self._hidden_values = hidden_values
        # (run, attempt) to its session token. A restarted daemon has none: workers register again.
        self._tokens: dict[tuple[str, int], str] = {}
        self._writing: dict[str, asyncio.Lock] = {}
        self._patterns: dict[str, tuple[bytes, ...]] = {}

    async def register(
        self,
        run_id: str,
        attempt: int,
        attempt_token: str,
        schema_version: int,
        protocol: str,
        capabilities: dict[str, Any],
        worker_id: str,
    ) -> WorkerSession:
        run = self._live_run(run_id, attempt)
        expected = self._attempt_token(run_id, attempt)
        if not expected or not hmac.compare_digest(expected, attempt_token.encode()):
            raise UnauthenticatedError(
                "The attempt token is wrong", hint="read it from the file MOSAIC_TOKEN_FILE names"
            )
        if protocol.partition("/")[0] != PROTOCOL.partition("/")[0]:
            raise WorkerProtocolError(f"Unknown protocol {protocol!r}; this is {PROTOCOL}")
        accepted = min(schema_version or EVENT_SCHEMA_VERSION, EVENT_SCHEMA_VERSION)
        record = {
            "type": "worker_registered",
            "seq": 0,
            "timestamp": time.time(),
            "run_id": run_id,
            "agent_id": run.record.agent_id,
            "worker_id": worker_id or run.record.worker_id,
            "schema_version": accepted,
            "protocol": protocol or PROTOCOL,
            "attempt": attempt,
            "capabilities": capabilities,
        }
        patterns = await asyncio.to_thread(lambda: secret_patterns(self._hidden_values(run)))
        self._live_run(run_id, attempt)  # it may have ended meanwhile
        token = secrets.token_hex(32)
        self._tokens[run_id, attempt], self._patterns[run_id] = token, patterns
        journal = self._home.run(run_id).journal
        async with self._lock(run_id):
            size = journal.stat().st_size if journal.exists() else 0
            line = (json.dumps(record) + "\n").encode()
            offset = await asyncio.to_thread(_append_masked, journal, size, line, patterns)
        return WorkerSession(token, accepted, offset)

    async def publish(self, run_id: str, token: str, offset: int, chunk: bytes) -> int:
        run = self._find_run(run_id)
        expected = self._tokens.get((run_id, run.record.attempt), "")
        if not expected or not hmac.compare_digest(expected.encode(), token.encode()):
            raise UnauthenticatedError(
                "The session token is wrong or outdated", hint="call RegisterWorker again"
            )
        self._live_run(run_id, run.record.attempt)
        if len(chunk) > MAX_CHUNK_BYTES:
            raise WorkerProtocolError(
                f"A chunk of {len(chunk):,} bytes is too large", hint=f"at most {MAX_CHUNK_BYTES:,}"
            )
        async with self._lock(run_id):
            journal, patterns = self._home.run(run_id).journal, self._patterns.get(run_id, ())
            return await asyncio.to_thread(_append_masked, journal, offset, chunk, patterns)

    def forget(self, run_id: str) -> None:
        self._tokens = {key: token for key, token in self._tokens.items() if key[0] != run_id}
        self._writing.pop(run_id, None)
        self._patterns.pop(run_id, None)

    def _attempt_token(self, run_id: str, attempt: int) -> bytes:
        """Empty when the file is gone or something else is in its place."""
        try:
            return read_bounded(self._home.run(run_id).attempt(attempt).token, MAX_TOKEN) or b""
        except (CorruptStoreError, OSError):
            return b""

    def _lock(self, run_id: str) -> asyncio.Lock:
        return self._writing.setdefault(run_id, asyncio.Lock())

    def _live_run(self, run_id: str, attempt: int) -> ActiveRun:
        run = self._find_run(run_id)
        if not run.is_live or run.record.attempt != attempt:
            raise RunStateError(
                f"Attempt {attempt} of this run is not live", hint="this worker should end"
            )
        return run


def _append_masked(journal: Path, offset: int, lines: bytes, patterns: tuple[bytes, ...]) -> int:
    """Whole lines, so that no value is cut in two."""
    return append_chunk(journal, offset, mask_in_place(lines, patterns))
