"""The registry of runs: what the daemon knows about every run, durable before it answers.

Callers await it on the event loop; one thread writes (see `writer`), another reads.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord, Transition
from mosaic.contracts.run_state import RunState
from mosaic.daemon.registry import quarantine
from mosaic.daemon.registry.documents import NewRun, RunEntry, write_row_file
from mosaic.daemon.registry.reader import RegistryReader, RunFilter
from mosaic.daemon.registry.recovery import RecoveryReport, back_up, open_registry
from mosaic.daemon.registry.rows import RunRow
from mosaic.daemon.registry.schema import connect, store_error
from mosaic.daemon.registry.store import RegistryStore
from mosaic.daemon.registry.writer import RegistryWriter
from mosaic.errors import StoreError
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

T = TypeVar("T")


class Registry:
    """Open it with `await Registry.open(home)`, and close it."""

    def __init__(self, home: Home, connection: sqlite3.Connection, report: RecoveryReport) -> None:
        # What the start had to mend; its sentence is empty when nothing was wrong.
        self.recovery = report
        # Why a run is not shown, by its id; grows when a row becomes unusable while we serve.
        self.set_aside = dict(report.set_aside)
        self._home = home
        self._writer = RegistryWriter(connection, lambda: connect(home.registry), self._keep_row)
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="registry-reader")
        self._reader: RegistryReader | None = None
        self._backed_up_revision = self._writer.revision

    @classmethod
    async def open(cls, home: Home) -> Registry:
        """Verify, restore if need be, migrate, compare with the runs' directories, back up."""
        connection, report = await asyncio.to_thread(open_registry, home)
        return cls(home, connection, report)

    @property
    def revision(self) -> int:
        """The newest revision on disk."""
        return self._writer.revision

    async def create_run(self, new: NewRun) -> tuple[str, bool]:
        """(run id, whether it is new); `write_run_file` must have been called before.

        A client key that is known answers with its run and changes nothing.
        """
        return await self._write(lambda store: store.create_run(new))

    async def update(
        self,
        run_id: str,
        expected_state: RunState,
        expected_attempt: int,
        *,
        transition: Transition | None = None,
        **changes: Any,
    ) -> int:
        """Change a run that is still in this state and attempt; returns its new revision.

        `changes` are fields of RunRecord, or `slot` and `not_before`. A transition sets state and
        attempt. Raises RunStateError when somebody else was faster, or the run is over.
        """
        return await self._write(
            lambda store: store.update(
                run_id, expected_state, expected_attempt, transition, changes
            )
        )

    async def update_progress(self, records: Iterable[RunRecord]) -> None:
        """Store progress, heartbeat and the like of many runs in one commit."""
        batch = list(records)
        await self._write(lambda store: store.update_progress(batch))

    async def entry(self, run_id: str) -> RunEntry:
        """All there is about a run, to be kept elsewhere."""
        return await self._read(lambda reader: reader.entry(run_id))

    async def put_back(self, entry: RunEntry) -> None:
        """Take in a run again that was kept elsewhere; raises RunStateError when its id is used."""
        await self._write(lambda store: store.put_back(entry))

    async def pin(self, run_id: str, pinned: bool) -> RunRow:
        """Returns the run's new row."""
        return await self._write(lambda store: store.pin(run_id, pinned))

    async def label(self, run_id: str, change: LabelChange) -> RunRow:
        """Name, tags and note; returns the run's new row."""
        return await self._write(lambda store: store.label(run_id, change))

    async def delete(self, run_id: str) -> None:
        """Forget a run that is over. Move its directory away first, or it will be found again."""
        await self._write(lambda store: store.delete(run_id))

    async def keep_exit_proof(self, run_id: str, attempt: int, commitment: str) -> None:
        """Store what proves an attempt's exit.json genuine, before it is launched."""
        await self._write(lambda store: store.keep_exit_proof(run_id, attempt, commitment))

    async def exit_proof(self, run_id: str, attempt: int) -> str:
        """Empty for an attempt that was launched before there were proofs."""
        return await self._read(lambda reader: reader.exit_proof(run_id, attempt))

    async def next_slot(self) -> int:
        """A number never handed out before, for `worker-<RUN>-<slot>.json`."""
        return await self._write(RegistryStore.take_slot)

    async def get(self, run_id: str) -> RunRecord:
        """With transitions and capabilities."""
        return await self._read(lambda reader: reader.get(run_id))

    async def live_and_queued(self) -> list[RunRecord]:
        """Every run that is not over, with transitions, oldest first."""
        return await self._read(RegistryReader.unfinished)

    async def find_client_key(self, key: str) -> str | None:
        return await self._read(lambda reader: reader.find_client_key(key))

    async def list(self, wanted: RunFilter | None = None) -> tuple[list[RunRecord], int]:
        """(records without their details, newest first; how many without the limit)."""
        chosen = wanted or RunFilter()
        return await self._read(lambda reader: reader.select(chosen))

    def note_unusable(self, run_id: str, reason: str) -> None:
        """From any thread: what is stored of this run cannot be shown."""
        if run_id not in self.set_aside:
            self.set_aside[run_id] = reason
            log.error("run.unusable", run_id=run_id, reason=reason)

    def forget_set_aside(self, run_id: str) -> None:
        """Its files are gone."""
        quarantine.forget(self._home, run_id)
        self.set_aside.pop(run_id, None)

    async def backup(self) -> None:
        """Copy the registry to its backup; costs nothing when nothing has changed."""
        revision = self.revision
        if revision != self._backed_up_revision:
            await asyncio.wrap_future(self._writer.call(self._back_up_now))
            self._backed_up_revision = revision

    async def close(self) -> None:
        """Everything asked for before is finished first."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        if self._reader is not None:
            self._reading.submit(self._reader.close)
        self._reading.shutdown()
        self._writer.close()

    async def _write(self, operation: Callable[[RegistryStore], T]) -> T:
        return await asyncio.wrap_future(self._writer.submit(operation))

    async def _read(self, query: Callable[[RegistryReader], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._reading, self._read_now, query
            )
        except RuntimeError as error:
            raise StoreError("The registry is closed") from error

    def _read_now(self, query: Callable[[RegistryReader], T]) -> T:
        try:
            if self._reader is None:
                self._reader = RegistryReader(self._home.registry, self.note_unusable)
            return query(self._reader)
        except sqlite3.Error as error:
            raise store_error(error) from error

    def _back_up_now(self, connection: sqlite3.Connection) -> None:
        try:
            back_up(connection, self._home.registry_backup)
        except OSError as error:
            raise StoreError(
                f"The registry's backup cannot be written: {error.strerror}",
                hint="free some disk space; the registry itself is not concerned",
            ) from error

    def _keep_row(self, row: RunRow) -> None:
        """Runs in the writer's thread, after the commit and before the caller hears of it."""
        try:
            write_row_file(self._home.run(str(row["run_id"])), row)
        except OSError as error:
            # The registry has it; the file only matters should the registry be lost.
            log.warning("run_file.unwritten", run_id=row["run_id"], error=str(error))
