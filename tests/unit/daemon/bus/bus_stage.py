"""Runs whose journals a test writes, and a hub as the daemon has it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.bus.hub import Hub
from mosaic.daemon.bus.run_bus import RunBus, RunFeed
from mosaic.errors import UnknownRunError
from mosaic.telemetry.ingest import JournalIngest
from tests import journal_lines as lines

ONE = lines.RUN_ID
TWO = lines.OTHER_RUN_ID


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, RunRecord] = {}
        self.feed = RunFeed()
        self.bus = RunBus()
        self._ingests: dict[str, JournalIngest] = {}
        self.hub = Hub(self.bus, self.feed, self.find, self.unfinished, self.journal)

    async def find(self, run_id: str) -> RunRecord:
        if run_id not in self.records:
            raise UnknownRunError(f"There is no run {run_id}")
        return self.records[run_id]

    def unfinished(self) -> list[str]:
        return [run_id for run_id, record in self.records.items() if not record.is_over]

    def journal(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.jsonl"

    def begin(self, run_id: str, created_at: float = 1e12) -> None:
        self.records[run_id] = RunRecord(
            run_id=run_id,
            run_name="x",
            worker="w",
            state=RunState.EXEC,
            outcome=None,
            attempt=1,
            priority=0,
            created_at=created_at,
            updated_at=created_at,
        )
        store = self.folder / f"{run_id}.sqlite"
        self._ingests[run_id] = JournalIngest(run_id, self.journal(run_id), store)
        self.feed.notify(run_id)

    def write(self, run_id: str, *events: bytes, ingest: bool = True) -> None:
        lines.append(self.journal(run_id), events)
        if ingest:
            self.ingest(run_id)

    def ingest(self, run_id: str) -> None:
        report = self._ingests[run_id].step(with_page=self.bus.is_followed(run_id))
        if report.page is not None:
            self.bus.publish(run_id, report.page)
        self.feed.notify(run_id)

    def end(self, run_id: str) -> None:
        self._ingests[run_id].close()
        self.records[run_id] = replace(
            self.records[run_id], state=RunState.TERM, outcome=Outcome.SUCCEEDED
        )
        self.feed.notify(run_id)

    def close(self) -> None:
        for ingest in self._ingests.values():
            ingest.close()
