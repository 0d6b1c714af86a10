from __future__ import annotations

import pytest

from mosaic.errors import RequestError
from mosaic.export.run_rows import ALL_EPISODES, EpisodeChoice, parse_choice


def test_every_way_to_say_it() -> None:
    assert parse_choice("3") == EpisodeChoice(3, 3)
    assert parse_choice("10..20") == EpisodeChoice(10, 20)
    assert parse_choice("best:5") == EpisodeChoice(order="best", count=5)
    assert parse_choice("last:1") == EpisodeChoice(order="newest", count=1)


@pytest.mark.parametrize("text", ["", "x", "5..3", "-1", "best:0", "last:", "1...2", "9" * 30])
def test_what_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="which episodes"):
        parse_choice(text)


def test_both_ends_belong_to_a_range() -> None:
    chosen = parse_choice("2..4")
    assert [index for index in range(6) if chosen.holds(index)] == [2, 3, 4]
    assert ALL_EPISODES.holds(10**9)
