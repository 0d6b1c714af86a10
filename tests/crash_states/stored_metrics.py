"""What the ingest makes of a journal, as the daemon would after a restart."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from mosaic.telemetry.ingest import JournalIngest
from tests.journal_lines import RUN_ID


def stored_metrics(folder: Path) -> list[tuple[str, int]]:
    """(name, step) of all points, in the order of the journal, once all of it is ingested."""
    store = folder / "telemetry.sqlite"
    ingest = JournalIngest(RUN_ID, folder / "events.jsonl", store)
    while ingest.step().has_more:
        pass
    ingest.close()
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return connection.execute("SELECT name, step FROM metrics ORDER BY cursor").fetchall()
