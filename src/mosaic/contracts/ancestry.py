"""Ancestry: the runs a resumed run continues, so that one training is told as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mosaic.contracts.run_record import LineageKind, RunRecord

# A training that was resumed more often than this is told from there on.
MOST_ANCESTORS = 20


@dataclass(frozen=True)
class Ancestor:
    """A run up to the step from which the next one continued it."""

    run_id: str
    run_name: str
    last_step: int | None  # None: as far as the next one has nothing
    started_at: float | None = None
    finished_at: float | None = None


def ancestors_of(
    record: RunRecord, find: Callable[[str], RunRecord | None]
) -> tuple[Ancestor, ...]:
    """The oldest first. It ends where a run is not there any more, or names one of its own."""
    found: list[Ancestor] = []
    seen = {record.run_id}
    lineage, cut = record.lineage, None
    while lineage is not None and lineage.kind is LineageKind.RESUMED:
        parent = find(lineage.parent_run)
        if parent is None or parent.run_id in seen or len(found) == MOST_ANCESTORS:
            break
        steps = [step for step in (lineage.step, cut) if step is not None]
        # Nobody continues a run from beyond the step its own child was cut at.
        cut = min(steps, default=None)
        found.append(
            Ancestor(parent.run_id, parent.run_name, cut, parent.started_at, parent.finished_at)
        )
        seen.add(parent.run_id)
        lineage = parent.lineage
    return tuple(reversed(found))
