from __future__ import annotations

import math

import pytest

from mosaic.cli.commands.metrics import choose_names, sparkline
from mosaic.errors import RequestError

KNOWN = ["charts/SPS", "losses/policy", "losses/value", "odd*name"]


def test_names_are_taken_as_they_are_or_as_patterns_and_each_once() -> None:
    assert choose_names(KNOWN, ["losses/*", "losses/value"]) == ["losses/policy", "losses/value"]
    assert choose_names(KNOWN, ["odd*name"]) == ["odd*name"]
    assert choose_names(KNOWN, ["*"]) == KNOWN


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(RequestError) as raised:
        choose_names(KNOWN, ["losses/vlaue"])
    assert "losses/value" in raised.value.hint


def test_a_sparkline_reaches_from_its_lowest_to_its_highest_value() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([]) == ""
    assert sparkline([3.0, 3.0]) == "▅▅"
    assert sparkline([math.nan, -1.7e308, math.inf, 1.7e308]) == "·▁·█"
    assert sparkline([math.nan]) == "·"
