"""Times and numbers read as a person would write them."""

from __future__ import annotations

import math

import pytest

from mosaic.front.human import age, amount, decimal, duration, moment, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (9.99, "10 s"),
        (12.4, "12 s"),
        (40.7, "40 s"),  # a clock shows 0:40
        (59.6, "59 s"),
        (185, "3 min 5 s"),
        (3600, "1 h"),
        (7810, "2 h 10 min"),
        (90_000, "1 d 1 h"),
        (-1, "?"),
        (float("inf"), "?"),
    ],
)
def test_duration_has_at_most_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "just now"), (0.5, "just now"), (12, "12 s ago"), (200, "3 min ago"),
     (7200, "2 h ago"), (200_000, "2 d ago")],
)  # fmt: skip
def test_age_has_one_unit(seconds: float, text: str) -> None:
    assert age(1_000_000 - seconds, now=1_000_000) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (22.0, "22"), (0.00031, "3.100e-04"), (3326.4, "3,326"), (45_323.4, "45,323"),
     (1e12, "1.000e+12"), (float("nan"), "nan"), (-0.5, "-0.5")],
)  # fmt: skip
def test_decimal_is_short(value: float, text: str) -> None:
    assert decimal(value) == text


def test_sizes_and_amounts() -> None:
    assert size(999) == "999 B"
    assert size(1_500) == "1.5 kB"
    assert size(250_000_000) == "250 MB"
    assert size(3e12) == "3.0 TB"
    assert amount(1, "run") == "1 run"
    assert amount(1200, "run") == "1,200 runs"


@pytest.mark.parametrize("number", [1e300, -1e300, math.nan, math.inf, -math.inf, 2.0**70, -1.0])
def test_no_number_of_a_foreign_file_is_beyond_words(number: float) -> None:
    for words in (age, decimal, duration, moment):
        assert words(number)


def test_what_is_no_time_is_a_question_mark() -> None:
    assert moment(math.nan) == moment(1e300) == age(-math.inf) == "?"
