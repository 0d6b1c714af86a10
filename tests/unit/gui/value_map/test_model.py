import math

import pytest

from mosaic.gui.theme.tokens import DARK, LIGHT, Palette, contrast
from mosaic.gui.value_map.model import Scale, Walk, colour_of, ink_on, map_view
from tests.unit.gui.agent_samples import a_map, some_values


def test_a_cell_says_where_it_is_what_it_is_and_what_it_is_worth() -> None:
    cells = [["floor", "floor", "floor"], ["start", "stop", "floor"]]
    values = some_values(None, None, None, (0.1, 0.33, 0.41, 0.0), (0.2, 0.2, 0.0, 0.2))
    view = map_view(a_map(cells=cells), values, 0)
    assert view.words(0) == "row 1, column 1 · never met"
    assert view.words(3) == (
        "row 2, column 1 · start · worth 0.41 · best: right 0.41, down 0.33, left 0.1, up 0"
    )
    assert view.cells[3].moves == ("right",)
    assert view.cells[4].moves == ("left", "down", "up")  # a tie shows every way
    assert view.summary() == "2 rows, 3 columns; 2 of 6 cells met, worth 0.2 to 0.41"


def test_where_all_actions_are_worth_the_same_none_is_shown() -> None:
    view = map_view(a_map(), some_values((0.5, 0.5, 0.5, 0.5)), 0)
    assert view.cells[0].moves == ()
    assert "no action is better than another" in view.words(0)


def test_a_hole_that_nobody_learnt_from_is_a_hole_and_no_worthless_place() -> None:
    cells = [["hole", "floor", "wall"], ["hole", "floor", "floor"]]
    table = some_values((0, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0), (0, 1, 0, 0))
    coloured = [cell.is_coloured for cell in map_view(a_map(cells=cells), table, 0).cells]
    assert coloured == [False, True, False, True, False, False]


def test_actions_that_lead_nowhere_and_ones_without_a_name_are_told() -> None:
    view = map_view(a_map(actions=["", "go\u202e\nup"], moves=["", "up"]), some_values((2, 1)), 0)
    assert view.cells[0].moves == ("",)
    assert view.words(0) == "row 1, column 1 · worth 2 · best: action 0 2, go up 1"


def test_values_that_do_not_fit_the_map_or_are_no_numbers_are_left_out() -> None:
    nan = math.nan
    values = some_values((nan, nan), (nan, 3.0, 1.0, 0.0, 9.0), (math.inf, 2.0, 1.0, 0.0))
    view = map_view(a_map(), values, 0)
    assert view.cells[0].best is None
    assert view.cells[1].best == 9.0
    assert view.cells[1].moves == ()  # the map knows no such action
    assert "action 4 9" in view.words(1)
    assert view.cells[2].moves == ("down",)
    assert view.scale == Scale(2.0, 9.0)
    assert map_view(a_map(), some_values(*[(1.0,)] * 50), 0).scale == Scale(1.0, 1.0)


def test_a_map_without_values_says_that_nothing_is_known() -> None:
    view = map_view(a_map(), None, 0)
    assert view.scale is None
    assert view.summary() == "2 rows, 3 columns; nothing is known yet"


def test_all_layers_have_one_scale() -> None:
    map = a_map(1, 1, layers=["a", "b"], states=[[0], [1]], targets=[""])
    values = some_values((1.0,), (5.0,))
    assert map_view(map, values, 0).scale == map_view(map, values, 1).scale == Scale(1.0, 5.0)


@pytest.mark.parametrize(
    ("scale", "value", "share"),
    [
        (Scale(0, 10), 5, 0.5),
        (Scale(-13, -1), -13, 0),
        (Scale(-13, -1), -1, 1),
        (Scale(-5, 10), -5, -0.5),
        (Scale(-5, 10), 10, 1),
        (Scale(0, 0), 0, 0),
        (Scale(-4, -4), -4, 0.5),
        (Scale(0, 1), 7, 1),
        (Scale(0, 1), math.nan, 0),
        (Scale(-1e308, 1e308), -1e308, -1),
    ],
)
def test_worth_becomes_a_share(scale: Scale, value: float, share: float) -> None:
    assert scale.share(value) == pytest.approx(share)


@pytest.mark.parametrize("palette", [DARK, LIGHT])
@pytest.mark.parametrize("sign", [1, -1])
def test_lightness_alone_says_how_much_and_ink_can_be_read_on_all_of_it(
    palette: Palette, sign: int
) -> None:
    colours = [colour_of(sign * share / 20, palette) for share in range(21)]
    from_panel = [contrast(colour, palette.panel) for colour in colours]
    assert from_panel == sorted(from_panel)
    assert all(contrast(ink_on(colour), colour) >= 4.5 for colour in colours)


def test_a_walk_is_drawn_as_far_as_it_goes_from_cell_to_cell() -> None:
    walk = Walk(a_map(2, 3))
    for state in (0, 1, 1, 4):
        walk.go(state)
    assert list(walk.trail) == [0, 1, 4]
    walk.go(2)  # not beside 4: another episode has begun
    assert list(walk.trail) == [2]
    walk.go(99)
    assert walk.cell is None
    assert walk.layer is None


def test_a_walk_follows_a_state_into_its_layer() -> None:
    walk = Walk(a_map(1, 2, layers=["a", "b"], states=[[0, 1], [2, -1]], targets=["", ""]))
    walk.go(2)
    assert (walk.layer, walk.cell) == (1, 0)


def test_a_long_walk_keeps_its_end() -> None:
    walk = Walk(a_map(1, 100, targets=[""] * 100))
    for state in range(100):
        walk.go(state)
    assert walk.cell == 99
    assert len(walk.trail) < 30


def test_the_cursor_stays_on_the_map() -> None:
    view = map_view(a_map(2, 3), None, 0)
    assert [view.beside(0, move) for move in ("left", "up", "right", "down")] == [0, 0, 1, 3]
    assert view.beside(5, "right") == view.beside(5, "down") == 5
