"""Numbers at axes and in legends."""

from __future__ import annotations

import math

import pytest

from mosaic.gui.charts.model.number_texts import (
    log_tick_texts,
    log_ticks,
    tick_texts,
    time_unit,
    value_text,
    x_text,
)


@pytest.mark.parametrize(
    ("values", "spacing", "texts"),
    [
        ([0, 20_000, 40_000], 20_000, ["0", "20k", "40k"]),
        ([0, 500_000, 1_000_000], 500_000, ["0", "0.5M", "1.0M"]),
        ([0, 2_500, 5_000], 2_500, ["0", "2,500", "5,000"]),
        ([-0.5, 0, 0.5], 0.5, ["-0.5", "0", "0.5"]),
        ([0, 0.25, 0.5], 0.25, ["0", "0.25", "0.50"]),
        ([0, 1e-4, 2e-4], 1e-4, ["0", "1e-4", "2e-4"]),
        ([10, 12.5, 15], 2.5, ["10.0", "12.5", "15.0"]),
    ],
)
def test_ticks_have_the_digits_that_tell_them_apart(
    values: list[float], spacing: float, texts: list[str]
) -> None:
    assert tick_texts(values, spacing) == texts


def test_no_two_ticks_of_an_axis_read_alike() -> None:
    for exponent in range(-9, 12):
        for factor in (1, 2, 5):
            spacing = factor * 10.0**exponent
            texts = tick_texts([place * spacing for place in range(-3, 8)], spacing)
            assert len(set(texts)) == len(texts), texts


def test_ticks_of_a_log_axis_are_decades_or_round_numbers() -> None:
    assert log_tick_texts(log_ticks(0, 6, 4)) == ["1", "100", "10k", "1M"]
    assert log_tick_texts(log_ticks(1, 3, 7)) == ["10", "20", "50", "100", "200", "500", "1,000"]
    assert log_tick_texts(log_ticks(-4, -3, 3)) == ["1e-4", "3e-4", "0.001"]


def test_less_than_a_decade_still_has_ticks() -> None:
    for low, high in ((2.01, 2.05), (-3.2, -3.19), (0.301, 0.31)):
        ticks = log_ticks(low, high, 5)
        assert len(ticks) >= 2
        assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in ticks)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        (0.0, "0"),
        (487.2, "487.2"),
        (1_234_567.0, "1.235M"),
        (-2.513e-06, "-2.51e-06"),
        (1e18, "1.00e+18"),
    ],
)
def test_values_are_short(value: float | None, text: str) -> None:
    assert value_text(value) == text


def test_places_are_told_in_words() -> None:
    assert x_text(12_288.4, "steps") == "step 12,288"
    assert x_text(185, "time") == "after 3 min 5 s"
    assert x_text(120, "episodes") == "episode 120"


def test_time_is_written_in_the_unit_that_fits() -> None:
    assert [time_unit(s).name for s in (0, 50, 119, 120, 7_200, 200_000)] == [
        "s",
        "s",
        "s",
        "min",
        "h",
        "d",
    ]
