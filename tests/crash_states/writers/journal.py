"""The worker's journal: whole once it is closed; before that, whatever survives reads soundly.

The SDK acknowledges no single event: a training must not wait for a disk. A killed process loses
nothing that was flushed, a power cut what the system had not written yet. A journal that was
closed is safe, and a journal with a torn or empty end is carried on by the next attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mosaic.worker.journal import Journal
from tests.crash_states.proof import Announce
from tests.crash_states.stored_metrics import stored_metrics

ATTEMPTS = 2
FLUSHES = 3
EVENTS = 5
RESUMED = "resumed"


def prepare(root: Path) -> None:
    """The folder of a run that was just launched."""


def write(root: Path, announce: Announce) -> None:
    for attempt in range(ATTEMPTS):
        journal = Journal(root / "events.jsonl")
        for flush in range(FLUSHES):
            for event in range(EVENTS):
                journal.append(_metric(f"{attempt}.{flush}", event))
            journal.flush()
        assert journal.close()
        announce(f"closed {(attempt + 1) * FLUSHES * EVENTS}")


def _metric(name: str, step: int) -> str:
    return f'"type":"metric","timestamp":1.0,"name":"{name}","value":0.5,"step":{step}'


def recover(root: Path) -> list[tuple[str, int]]:
    """(name, step) of every stored point, after the next attempt has said something too."""
    journal = Journal(root / "events.jsonl")
    journal.append(_metric(RESUMED, 1))
    assert journal.close()
    return stored_metrics(root)


def complaint(recovered: list[tuple[str, int]], said: Sequence[str]) -> str:
    written = [
        (f"{attempt}.{flush}", event)
        for attempt in range(ATTEMPTS)
        for flush in range(FLUSHES)
        for event in range(EVENTS)
    ]
    *found, last = recovered
    closed = max((int(line.split()[1]) for line in said), default=0)
    if last != (RESUMED, 1):
        return f"the next attempt is not heard: {recovered[-3:]}"
    if found[:closed] != written[:closed]:
        return f"lost: {closed} events were closed, {len(found)} are there"
    if [point for point in written if point in set(found)] != found:
        return f"invented, doubled or out of order: {found}"
    return ""
