"""Runs that differ in their seed as one row, and where that row stands."""

from __future__ import annotations

from mosaic.contracts.run_record import Progress
from mosaic.contracts.run_state import Outcome
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.model.filter import RunsFilter
from mosaic.gui.runs.model.groups import group_key, group_name, group_row, spread_text
from mosaic.gui.runs.model.order import RunsOrder
from mosaic.gui.runs.model.settings import KnownSettings
from tests.unit.gui.run_samples import START, over, record


def returning(value: float) -> Progress:
    return Progress(1000, 1000, 10, None, value, value, 100.0)


SEEDS = [over(number, group="five", progress=returning(100.0 * number)) for number in (1, 2, 3)]
ALONE = over(4, progress=returning(250.0))
ONLY = over(5, group="one of one", progress=returning(50.0))
ALL = [ONLY, ALONE, *reversed(SEEDS)]  # newest first
FIVE = group_key("five")


def grouped(column: int = Column.STARTED) -> RunsOrder:
    made = RunsOrder()
    made.is_grouped = True
    made.column = column
    return made


def test_a_group_stands_above_its_runs() -> None:
    rows = grouped().arranged(ALL)
    assert rows == [ONLY.run_id, ALONE.run_id, FIVE, *(run.run_id for run in reversed(SEEDS))]
    assert group_name(FIVE) == "five" and group_name(ONLY.run_id) is None


def test_a_folded_group_is_one_row() -> None:
    made = grouped()
    made.folded.add("five")
    assert made.arranged(ALL) == [ONLY.run_id, ALONE.run_id, FIVE]
    assert made.groups["five"] == [run.run_id for run in reversed(SEEDS)]


def test_a_group_is_sorted_by_its_figure_and_its_runs_by_theirs() -> None:
    made = grouped(Column.RETURN)  # 250, then the group with 200, then 50
    best_first = [run.run_id for run in reversed(SEEDS)]
    assert made.arranged(ALL) == [ALONE.run_id, FIVE, *best_first, ONLY.run_id]


def test_only_what_is_shown_makes_a_group() -> None:
    made = grouped()
    made.filter = RunsFilter.parse("seed1")
    assert made.arranged(ALL) == [SEEDS[0].run_id]


def test_pinned_runs_and_their_groups_come_first() -> None:
    pinned = over(2, group="five", pinned=True)
    rows = grouped().arranged([ONLY, ALONE, SEEDS[2], pinned, SEEDS[0]])
    assert rows[:2] == [FIVE, pinned.run_id]
    flat = RunsOrder()
    assert flat.arranged([ONLY, ALONE, pinned])[0] == pinned.run_id


def test_the_figures_of_a_group() -> None:
    row = group_row("five", SEEDS, now=START + 100)
    assert row.text(Column.RETURN) == "200.0 ± 100.0"
    assert (row.word, row.environment, row.episodes) == ("succeeded", "CartPole-v1", "30")
    assert row.text(Column.NAME) == "five · 3 runs" and row.progress == "100 %"
    mixed = group_row("five", [*SEEDS, over(6, Outcome.FAILED), record(7)], now=START + 100)
    assert (mixed.word, mixed.state) == ("1 failed", "failed")
    assert spread_text([]) == "–" and spread_text([1.0]) == "1.0"


def test_settings_sort_and_are_found() -> None:
    settings = KnownSettings()
    settings.add(
        {
            ALONE.run_id: {"learning_rate": 0.01, "act": "tanh"},
            ONLY.run_id: {"learning_rate": 0.001},
        }
    )
    made = RunsOrder(settings)
    made.setting, made.column = "learning_rate", len(Column)
    assert made.arranged(ALL)[:2] == [ALONE.run_id, ONLY.run_id]
    made.is_descending = False
    assert made.arranged(ALL)[:2] == [ONLY.run_id, ALONE.run_id]
    for text, found in (
        ("learning_rate:0.001", [ONLY.run_id]),
        ("tanh", [ALONE.run_id]),
        ("rate=0.01", [ALONE.run_id]),
    ):
        made.filter = RunsFilter.parse(text)
        assert made.arranged(ALL) == found
    assert settings.names[:2] == ["learning_rate", "act"]
