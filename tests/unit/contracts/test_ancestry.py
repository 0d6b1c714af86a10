"""Which runs a resumed one continues."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.ancestry import MOST_ANCESTORS, ancestors_of
from mosaic.contracts.run_record import Lineage, LineageKind, RunRecord
from mosaic.contracts.run_state import RunState

RESUMED = LineageKind.RESUMED


def record(run_id: str, lineage: Lineage | None = None, **changes: Any) -> RunRecord:
    return RunRecord(
        run_id, f"run {run_id}", "learner", RunState.TERM, None, 1, 0, 0.0, 0.0, lineage=lineage
    )


def chain(*runs: RunRecord) -> list[tuple[str, int | None]]:
    """Of the last one."""
    by_id = {run.run_id: run for run in runs}
    return [(one.run_id, one.last_step) for one in ancestors_of(runs[-1], by_id.get)]


def test_a_resumed_run_continues_all_before_it_the_oldest_first() -> None:
    first, second = record("1"), record("2", Lineage("1", RESUMED, 500))
    third = record("3", Lineage("2", RESUMED, 900))
    assert chain(first, second, third) == [("1", 500), ("2", 900)]


def test_other_kinds_of_lineage_continue_nothing() -> None:
    for kind in set(LineageKind) - {RESUMED}:
        assert chain(record("1"), record("2", Lineage("1", kind, 5))) == []


def test_an_ancestor_counts_no_further_than_what_came_after_it() -> None:
    first, second = record("1"), record("2", Lineage("1", RESUMED, 900))
    assert chain(first, second, record("3", Lineage("2", RESUMED, 500))) == [("1", 500), ("2", 500)]
    assert chain(first, record("3", Lineage("1", RESUMED))) == [("1", None)]


def test_it_ends_where_a_run_is_gone_or_the_record_goes_in_circles() -> None:
    assert chain(record("2", Lineage("1", RESUMED))) == []
    assert chain(record("2", Lineage("2", RESUMED))) == []
    assert chain(record("1", Lineage("2", RESUMED)), record("2", Lineage("1", RESUMED))) == [
        ("1", None)
    ]
    long = [record("0"), *(record(f"{n}", Lineage(f"{n - 1}", RESUMED)) for n in range(1, 40))]
    assert len(chain(*long)) == MOST_ANCESTORS
