"""One source of colours: a run has the same in the table, the charts and a comparison."""

from __future__ import annotations

from mosaic.gui.state.runs_state import CURVES
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import WorkbenchState
from tests.unit.gui.run_samples import over

SEEDS = [over(number, group="five") for number in (1, 2, 3)]
OTHER = over(4)


def state_with_runs() -> WorkbenchState:
    state = WorkbenchState()
    state.runs.load([*SEEDS, OTHER])
    return state


def colours(state: WorkbenchState) -> list[str | None]:
    return [state.colours.of(run.run_id) for run in (*SEEDS, OTHER)]


def test_runs_of_a_group_have_the_colour_of_its_curve() -> None:
    state = state_with_runs()
    state.select([run.run_id for run in (*SEEDS, OTHER)])
    assert colours(state) == [CURVES[0]] * 3 + [CURVES[1]]
    told: list[str] = []
    state.colours_changed.connect(lambda: told.append("changed"))
    state.colour_seeds_apart(True)
    assert len(set(colours(state))) == 4 and told == ["changed"]
    state.colour_seeds_apart(False)
    assert len(set(colours(state))) == 2


def test_what_is_one_curve_in_a_comparison_has_one_colour_in_the_table() -> None:
    state = state_with_runs()
    compared = [SEEDS[0].run_id, OTHER.run_id]
    state.select(compared)
    before = colours(state)
    assert before[0] != before[3]
    state.compare([*compared, SEEDS[1].run_id])
    state.colour_together(dict.fromkeys(compared, "same recipe"))
    first, second, _, other = colours(state)
    assert first == other is not None and second not in (None, first)
    state.show_page(Page.LIVE)
    assert len({colour for colour in colours(state) if colour}) == 2
