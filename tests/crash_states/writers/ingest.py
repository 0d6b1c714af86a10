"""The daemon's store beside a journal that grows: rows and offset agree with what is left of it.

Neither is synced while a run goes on. Whatever survives of the two, the store ends up with every
event that the journal still has, exactly once, and with none that was never written; and once the
journal was closed, with all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mosaic.telemetry.ingest import JournalIngest
from mosaic.worker.journal import Journal
from tests.crash_states.proof import Announce
from tests.crash_states.stored_metrics import stored_metrics
from tests.journal_lines import RUN_ID

BATCHES = 3
EVENTS = 8

_known: dict[bytes | None, list[tuple[str, int]]] = {}


class Recovered(NamedTuple):
    readable: list[tuple[str, int]]
    stored: list[tuple[str, int]]


def prepare(root: Path) -> None:
    """The folder of a run that was just launched."""


def write(root: Path, announce: Announce) -> None:
    journal = Journal(root / "events.jsonl")
    ingest = JournalIngest(RUN_ID, root / "events.jsonl", root / "telemetry.sqlite")
    for batch in range(BATCHES):
        for event in range(EVENTS):
            step = batch * EVENTS + event
            journal.append(
                f'"type":"metric","timestamp":1.0,"name":"loss","value":0.5,"step":{step}'
            )
        journal.flush()
        ingest.step(max_bytes=300)
    assert journal.close()
    announce("closed")
    while ingest.step().has_more:
        pass
    ingest.close()


def recover(root: Path) -> Recovered:
    stored = stored_metrics(root)
    return Recovered(_readable(root), stored)


def _readable(root: Path) -> list[tuple[str, int]]:
    """What a new store takes from the journal: of two journals that are equal, the same."""
    path = root / "events.jsonl"
    journal = path.read_bytes() if path.exists() else None
    if journal not in _known:
        for leftover in root.glob("telemetry*"):
            leftover.unlink()
        _known[journal] = stored_metrics(root)
    return _known[journal]


def complaint(recovered: Recovered, said: Sequence[str]) -> str:
    written = [("loss", step) for step in range(BATCHES * EVENTS)]
    stored = recovered.stored
    if not set(recovered.readable) <= set(stored):
        return f"the store lacks {set(recovered.readable) - set(stored)}, which can be read"
    if [point for point in written if point in set(stored)] != stored:
        return f"invented, doubled or out of order: {stored}"
    if said and stored != written:
        return f"lost: the journal was closed, {len(stored)} of {len(written)} events are stored"
    return ""
