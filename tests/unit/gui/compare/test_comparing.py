"""Which runs are compared, and which could be added."""

from __future__ import annotations

from mosaic.gui.compare.model.comparing import addable, missing_text, without
from tests.unit.gui.checkpoints.test_cards import record


def test_a_run_that_is_taken_out_leaves_the_order_of_the_others() -> None:
    assert without(("a", "b", "c"), ["b", "x"]) == ("a", "c")


def test_runs_of_the_same_environment_are_offered() -> None:
    runs = [
        record(run_id="d", env_id="Acrobot-v1"),
        record(run_id="c"),
        record(run_id="b"),
        record(run_id="a"),
    ]
    assert [run.run_id for run in addable(runs, ("b",))] == ["c", "a"]
    assert [run.run_id for run in addable(runs, ())] == ["d", "c", "b", "a"]
    assert addable([], ()) == []


def test_too_few_runs_are_told_how_to_select_more() -> None:
    assert missing_text(0)[0] == "No runs to compare"
    assert missing_text(1)[0] == "One run is not a comparison"
    assert "Ctrl+click" in missing_text(0)[1]
