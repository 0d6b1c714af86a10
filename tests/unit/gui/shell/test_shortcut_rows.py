"""The keys as rows for people to read."""

from __future__ import annotations

from mosaic.gui.shell.model.shortcut_rows import columns, shortcut_rows


def test_commands_are_grouped_by_menu_and_those_without_keys_left_out() -> None:
    rows = shortcut_rows(
        [("File", "Quit", "Ctrl+Q"), ("", "Search", "Ctrl+K"), ("File", "Home", "")], "Elsewhere"
    )
    assert {menu: [(row.title, row.keys) for row in found] for menu, found in rows.items()} == {
        "File": [("Quit", "Ctrl+Q")],
        "Elsewhere": [("Search", "Ctrl+K")],
    }


def test_numbered_commands_become_one_row() -> None:
    rows = shortcut_rows(
        [("", f"Show tab {number}", f"Ctrl+{number}") for number in range(1, 10)], "Elsewhere"
    )
    (row,) = rows["Elsewhere"]
    assert (row.title, row.keys) == ("Show tab 1 … 9", "Ctrl+1 … Ctrl+9")


def test_different_commands_with_numbers_stay_apart() -> None:
    rows = shortcut_rows([("", "Player 1", "Ctrl+1"), ("", "Camera 2", "Ctrl+2")], "Elsewhere")
    assert len(rows["Elsewhere"]) == 2


def test_columns_are_of_nearly_the_same_height_and_keep_the_order() -> None:
    lengths = {"File": 3, "Run": 6, "View": 8, "Compare": 2, "Help": 3}
    left, right = columns(lengths)
    assert [*left, *right] == list(lengths)
    heights = [sum(lengths[name] + 2 for name in side) for side in (left, right)]
    assert max(heights) <= 0.65 * sum(heights)
