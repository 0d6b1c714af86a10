"""Which columns the table shows, in which order, and how wide they are."""

from __future__ import annotations

import pytest

from mosaic.gui.runs.model.columns import (
    ALWAYS,
    MOST_SETTINGS,
    Column,
    ColumnChoice,
    column_widths,
    natural_width,
)


@pytest.mark.parametrize("room", [300, 612, 800, 1000, 1254, 2540])
def test_columns_fill_the_table_and_give_way_in_order(room: int) -> None:
    widths = column_widths(room)
    assert {Column.STATE, Column.NAME, Column.PROGRESS, Column.ACTIONS} <= set(widths)
    if room >= 612:
        assert sum(widths.values()) == room
        assert Column.RETURN in widths
    assert (Column.EPISODES in widths) == (room >= 1254)


def test_on_a_large_screen_no_column_is_wider_than_its_content() -> None:
    content: dict[int, int] = {
        Column.NAME: 420,
        Column.ENVIRONMENT: 100,
        Column.NOTE: 200,
        Column.TAGS: 90,
    }
    widths = column_widths(2540, None, content)
    assert widths[Column.NAME] == 420
    assert widths[Column.PROGRESS] <= 160
    assert widths[Column.NOTE] == 200
    assert widths[Column.SPACE] > 500, "what nobody needs stays empty, at the end"
    assert sum(widths.values()) == 2540


def test_a_long_name_is_worth_more_than_another_column() -> None:
    plain, long = column_widths(1180), column_widths(1180, None, {Column.NAME: 400})
    assert long[Column.NAME] >= 250
    assert Column.EPISODES in plain and Column.EPISODES not in long


def test_tags_and_notes_are_shown_where_there_are_any() -> None:
    assert not {Column.TAGS, Column.NOTE} & set(column_widths(2540))
    assert {Column.TAGS, Column.NOTE} <= set(
        column_widths(2540, None, {Column.TAGS: 50, Column.NOTE: 50})
    )


def test_settings_become_columns_and_go_again() -> None:
    choice = ColumnChoice().with_setting("learning_rate").with_setting("seed")
    assert choice.settings == ("learning_rate", "seed")
    rate, seed = len(Column), len(Column) + 1
    assert (choice.title(rate), choice.setting(seed), choice.setting(Column.NAME)) == (
        *("learning_rate", "seed", None),
    )
    assert {rate, seed} <= set(column_widths(1254, choice))
    order = choice.visual_order
    assert order.index(rate) < order.index(Column.ELAPSED)
    assert order[-2:] == (Column.ACTIONS, Column.SPACE)
    left = choice.toggled(seed).without_setting("learning_rate")
    assert left.settings == ("seed",) and not left.is_shown(rate)
    assert sorted(left.visual_order) == list(range(left.count))
    many = ColumnChoice()
    for number in range(100):
        many = many.with_setting(f"s{number}")
    assert len(many.settings) == MOST_SETTINGS


def test_some_columns_cannot_be_hidden() -> None:
    choice = ColumnChoice()
    for column in Column:
        choice = choice.toggled(column)
    assert all(choice.is_shown(column) for column in ALWAYS)
    assert not choice.is_shown(Column.STATE) and choice.is_shown(Column.PICTURE)


def test_a_choice_is_remembered_by_name() -> None:
    choice = ColumnChoice().with_setting("learning_rate").toggled(Column.SPEED)
    order = list(choice.visual_order)
    order.remove(Column.RETURN)
    choice = choice.reordered([Column.COLOUR, Column.RETURN, *order[1:]])
    again = ColumnChoice.from_text(choice.to_text())
    assert again.visual_order == choice.visual_order
    assert (again.settings, again.hidden) == (choice.settings, choice.hidden)


def test_what_a_person_has_widened_keeps_its_width_and_the_others_share_the_rest() -> None:
    touched = ColumnChoice().widened(Column.ENVIRONMENT, 300)
    for room in (900, 1000, 1254, 2540):
        widths = column_widths(room, touched, {Column.ENVIRONMENT: 100})
        assert widths[Column.ENVIRONMENT] == 300
        assert sum(widths.values()) == room
    narrow = ColumnChoice().widened(Column.NAME, 90)
    assert column_widths(2540, narrow, {Column.NAME: 400})[Column.NAME] == 90


def test_a_width_by_hand_leaves_the_table_usable_in_a_narrow_window() -> None:
    wide = ColumnChoice().widened(Column.NAME, 5000).widened(Column.STATE, 400)
    widths = column_widths(862, wide)
    assert sum(widths.values()) == 862
    assert {Column.STATE, Column.PROGRESS, Column.ACTIONS} <= set(widths)


def test_what_is_drawn_in_a_fixed_size_is_not_widened() -> None:
    choice = ColumnChoice()
    for column in (Column.COLOUR, Column.ACTIONS, Column.PICTURE, Column.SPACE):
        assert choice.widened(column, 500) == choice
    assert choice.widened(Column.STATE, -7).widths[Column.STATE] > 0


def test_widths_are_remembered_by_name_and_follow_their_setting() -> None:
    choice = ColumnChoice().with_setting("learning_rate").with_setting("seed")
    rate, seed = len(Column), len(Column) + 1
    choice = choice.widened(rate, 150).widened(seed, 120).widened(Column.NAME, 333)
    assert ColumnChoice.from_text(choice.to_text()).widths == choice.widths
    left = choice.without_setting("learning_rate")
    assert left.widths == {rate: 120, Column.NAME: 333}
    assert not ColumnChoice.from_text('{"order": [], "hidden": [], "widths": {"name": "x"}}').widths


def test_a_natural_width_is_that_of_the_content() -> None:
    assert natural_width(Column.NAME, {Column.NAME: 417}) == 417
    assert natural_width(Column.SPEED, {}) == 78
    assert natural_width(len(Column), {}) == 88


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        '{"order": 7, "hidden": []}',
        '{"order": ["nowhere", {}], "hidden": [[]]}',
        '{"settings": 5}',
        "[" * 100_000,
    ],
)
def test_nonsense_is_as_usual(text: str) -> None:
    choice = ColumnChoice.from_text(text)
    assert sorted(choice.visual_order) == list(range(len(Column)))
