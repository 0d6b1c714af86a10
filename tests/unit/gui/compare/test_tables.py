"""A comparison as tables and curves."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from mosaic.compare.comparison import Comparison, Question, compare
from mosaic.compare.curves import Curve, Floats
from mosaic.compare.groups import RunGroup
from mosaic.gui.compare.model.tables import (
    Table,
    curves_of,
    difference_table,
    final_caption,
    final_table,
    group_colours,
    pair_table,
    shortened,
    subtitle,
    tab_separated,
)
from mosaic.gui.state.runs_state import CURVES
from tests.unit.gui.checkpoints.test_cards import record


def comparison() -> Comparison:
    """Five seeds that end at about 100, and one that ends at 10."""
    good = [record(run_id=f"g{seed}", run_name=f"g{seed}") for seed in range(5)]
    bad = [record(run_id="b0", run_name="b0", config={"metadata": {"lr": 1}})]
    curves = {}
    for seed, run in enumerate(good):
        curves[run.run_id] = Curve.of(run.run_id, [0, 50, 100], [0.0, 50.0, 100.0 + seed])
    curves["b0"] = Curve.of("b0", [0, 50, 100], [0.0, 5.0, 10.0])

    def tail(run_id: str, count: int, last_step: float) -> Floats:
        return np.asarray(curves[run_id].values[-count:])

    groups = [RunGroup("good", tuple(good)), RunGroup("bad", tuple(bad))]
    return compare(Question("episodic return", 1), groups, curves, tail)


def test_each_group_is_a_curve_and_only_several_seeds_have_a_band() -> None:
    good, bad = curves_of(comparison())
    assert (good.label, good.note, good.is_band) == ("good", "5 seeds", True)
    assert good.lows is not None and good.highs is not None
    assert (bad.note, bad.is_band, bad.lows) == ("1 seed", False, None)
    assert good.colour != bad.colour


def test_a_group_has_the_colour_that_its_first_run_has_elsewhere() -> None:
    shown = {"a1": CURVES[3], "a2": CURVES[0]}
    groups = {"a1": "a", "a2": "a", "b1": "b", "c1": "c"}
    first, second, third = group_colours(["b", "a", "c"], groups, shown.get)
    assert second == CURVES[3]
    assert len({first, second, third}) == 3, "groups that are shown nowhere else get free ones"
    good, bad = curves_of(comparison(), [first, second])
    assert (good.colour, bad.colour) == (first, second)


def test_the_final_performance_of_one_seed_has_no_interval() -> None:
    table = final_table(comparison())
    assert table.columns == ("Group", "Seeds", "IQM", "95 % interval", "Median")
    assert table.rows[0][:3] == ("good", "5", "102.00") and " … " in table.rows[0][3]
    assert table.rows[1] == ("bad", "1", "10.00", "–", "10.00")
    assert len(table.colours) == 2


def test_one_seed_against_five_is_not_told_apart() -> None:
    table = pair_table(comparison())
    assert table.rows[0][:3] == ("good", "bad", "1.00")
    assert table.rows[0][-1] == "no"


def test_what_differs_is_told_for_every_group() -> None:
    table = difference_table(comparison())
    assert table.columns == ("Parameter", "good", "bad")
    assert any("lr" in row[0] for row in table.rows)


def test_tables_are_copied_as_cells() -> None:
    text = tab_separated([final_table(comparison())])
    assert text.splitlines()[0].split("\t")[0] == "Group"
    assert len(text.splitlines()) == 3


def test_copied_names_are_no_formulas_and_copied_numbers_are_numbers() -> None:
    table = Table(("Group", "=IQM"), (("=1+1\tx", "-1.50"), ("-5", "-1 … 2")), frozenset({1}))
    assert tab_separated([table]) == "Group\t'=IQM\n'=1+1 x\t-1.50\n-5\t-1 … 2\n"


def test_the_page_says_what_is_compared() -> None:
    found = comparison()
    assert subtitle(found) == "episodic return on CartPole-v1 up to step 100"
    assert final_caption(found) == "Mean of the last 1 episodes of each seed"
    assert shortened("x" * 100).endswith("…") and len(shortened("x" * 100)) == 40
