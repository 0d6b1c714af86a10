"""Who has the height of the page of a run that is over."""

from __future__ import annotations

import pytest

from mosaic.gui.outcome.model.room import Lines, Shares, shares

LINES = Lines(60, 300)


@pytest.mark.parametrize(
    ("room", "found"),
    [
        (1200, Shares(300, 900)),  # all lines
        (600, Shares(200, 400)),  # a third
        (260, Shares(70, 190)),  # never less to be seen than makes sense
        (250, Shares(60, 190)),
        (240, Shares(240, 0)),  # why it failed matters more
        (30, Shares(60, 0)),  # the page scrolls
        (-100, Shares(60, 0)),
    ],
)
def test_what_is_to_be_seen_gives_way_to_a_failure(room: int, found: Shares) -> None:
    assert shares(room, LINES, 190, gives_way=True) == found


def test_what_is_to_be_seen_stays_where_nothing_failed() -> None:
    assert shares(100, Lines(), 190, gives_way=False) == Shares(0, 190)
    assert shares(500, Lines(), 190, gives_way=False) == Shares(0, 500)


def test_the_lines_have_no_more_than_they_need() -> None:
    assert shares(1000, LINES, 0, gives_way=False) == Shares(300, 0)
