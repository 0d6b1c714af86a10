"""Which runs are compared, and which could be added. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mosaic.contracts.run_record import RunRecord

FEWEST = 2
_MOST_OFFERED = 20


def without(run_ids: Sequence[str], gone: Iterable[str]) -> tuple[str, ...]:
    left = frozenset(gone)
    return tuple(run_id for run_id in run_ids if run_id not in left)


def addable(runs: Sequence[RunRecord], compared: Sequence[str]) -> list[RunRecord]:
    """Runs of the same environment first, the newest of them ahead; only a few are offered."""
    chosen = frozenset(compared)
    environments = {run.env_id for run in runs if run.run_id in chosen}
    others = [run for run in runs if run.run_id not in chosen]
    near = [run for run in others if run.env_id in environments]
    far = [run for run in others if run.env_id not in environments]
    return (near if environments else [*near, *far])[:_MOST_OFFERED]


def missing_text(count: int) -> tuple[str, str]:
    """A title and a sentence for a page with too few runs on it."""
    how = (
        "Select several runs below (Ctrl+click or Shift+click), then Compare. "
        "Runs that differ only in their seed are taken together."
    )
    if count == 1:
        return "One run is not a comparison", how
    return "No runs to compare", how
