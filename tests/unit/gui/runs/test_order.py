"""Which runs are shown, and in which order."""

from __future__ import annotations

import pytest

from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import FailureKind, RunState
from mosaic.front.run_words import state_word
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.model.filter import RunsFilter, haystack_of
from mosaic.gui.runs.model.order import RunsOrder
from mosaic.gui.state.runs_state import RunColours
from tests.unit.gui.run_samples import failed, over, record

RUNNING = record(1)
QUEUED = record(2, state=RunState.INIT, started_at=None, progress=Progress())
FAILED = failed(3, FailureKind.LOST, run_name="dqn-Acrobot-v1-seed9", env_id="Acrobot-v1")
DONE = over(4, worker="other", group="sweep", progress=Progress(9, 9, 3, None, 1.0, 7.5, 10.0))
ALL = [DONE, FAILED, QUEUED, RUNNING]  # newest first


def shown(text: str) -> list[RunRecord]:
    wanted = RunsFilter.parse(text)
    return [run for run in ALL if wanted.matches(run, haystack_of(run), state_word(run))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ALL),
        ("  ", ALL),
        ("acro", [FAILED]),
        ("ACROBOT", [FAILED]),
        ("failed", [FAILED]),
        ("state:failed", [FAILED]),
        ("state:fail env:Acrobot", [FAILED]),
        ("state:failed env:CartPole", []),
        ("env:cart", [DONE, QUEUED, RUNNING]),
        ("done", [DONE]),
        ("state:done", [DONE]),
        ("worker:other", [DONE]),
        ("group:sweep", [DONE]),
        ("sweep", [DONE]),
        (f"id:{QUEUED.run_id.lower()}", [QUEUED]),
        ("name:seed9", [FAILED]),
        ("cart ppo run", [RUNNING]),
        ("state:", ALL),
        ("lr:0.1", []),
        ("seed9", [FAILED]),
    ],
)
def test_words_find_runs(text: str, found: list[RunRecord]) -> None:
    assert shown(text) == found


def order(column: Column, is_descending: bool = True) -> list[str]:
    made = RunsOrder()
    made.column, made.is_descending = column, is_descending
    return made.arranged(ALL)


def ids(*records: RunRecord) -> list[str]:
    return [run.run_id for run in records]


def test_the_newest_come_first() -> None:
    assert RunsOrder().arranged(ALL) == ids(*ALL)
    assert order(Column.STARTED, is_descending=False) == ids(RUNNING, QUEUED, FAILED, DONE)


@pytest.mark.parametrize("is_descending", [True, False])
def test_what_has_no_value_comes_last_either_way(is_descending: bool) -> None:
    assert order(Column.RETURN, is_descending)[-1] == QUEUED.run_id
    known = order(Column.RETURN, is_descending)[:-1]
    # Equal values stay as they were: the newer one first.
    best = ids(FAILED, RUNNING)
    assert known == ([*best, DONE.run_id] if is_descending else [DONE.run_id, *best])


def test_every_column_can_be_sorted_by() -> None:
    for column in Column:
        assert sorted(order(column)) == sorted(ids(*ALL))


def test_states_are_sorted_by_how_much_they_need_somebody() -> None:
    assert order(Column.STATE, is_descending=False) == ids(RUNNING, QUEUED, FAILED, DONE)


def test_rows_move_for_states_at_once_but_for_numbers_seldom() -> None:
    made = RunsOrder()
    made.column = Column.SPEED
    made.arranged(ALL)
    faster = record(1, progress=Progress(600, 1000, 21, None, 1.0, 2.0, 99_999.0))
    assert not made.needs_arranging([faster], since_last_s=0.5)
    assert made.needs_arranging([faster], since_last_s=2.5)
    assert made.needs_arranging([over(1)], since_last_s=0.0)
    assert made.needs_arranging([record(77)], since_last_s=0.0)


def test_numbers_never_move_rows_that_are_sorted_by_name() -> None:
    made = RunsOrder()
    made.column = Column.NAME
    made.arranged(ALL)
    assert not made.needs_arranging([RUNNING], since_last_s=60.0)


def test_the_heading_counts() -> None:
    made = RunsOrder()
    made.arranged(ALL)
    assert made.summary() == "4 runs · 1 running · 1 queued"
    assert made.summary(shown=2) == "2 of 4 runs · 1 running · 1 queued"
    made.arranged([DONE])
    assert made.summary() == "1 run"


def test_a_run_that_ends_is_counted_and_found_anew() -> None:
    made = RunsOrder()
    made.arranged(ALL)
    made.filter = RunsFilter.parse("state:running")
    assert made.arranged(ALL) == ids(RUNNING)
    made.forget(ids(RUNNING))
    assert made.arranged([DONE, FAILED, QUEUED, over(1)]) == []
    assert made.summary() == "4 runs · 1 queued"


def test_ten_thousand_selected_runs_have_colours() -> None:
    colours = RunColours()
    colours.show(str(number) for number in range(10_000))
    assert colours.of("9999") is not None
    kept = colours.of("3")
    colours.show(("7", "3"))
    assert colours.of("3") == kept and colours.of("9999") is None
