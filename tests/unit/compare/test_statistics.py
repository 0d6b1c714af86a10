"""Estimates over seeds against known values and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mosaic.compare.statistics import (
    Estimate,
    band,
    estimate,
    iqm,
    probability_of_improvement,
    summarize,
)


def test_the_iqm_is_the_mean_of_the_middle_half() -> None:
    assert iqm(np.array([0.0, 1, 2, 3, 4, 5, 6, 1000])) == pytest.approx(3.5)
    assert iqm(np.array([1.0, 2, 6])) == pytest.approx(3.0)  # too few to cut


def test_the_interval_of_the_mean_is_the_one_of_all_resamples() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    means = [np.mean(pick) for pick in itertools.product(values, repeat=4)]
    found = estimate(values, np.mean)
    assert found.low == pytest.approx(np.quantile(means, 0.025), abs=0.3)
    assert found.high == pytest.approx(np.quantile(means, 0.975), abs=0.3)


def test_the_interval_of_a_mean_covers_it_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(150):
        found = estimate(rng.normal(5.0, 2.0, size=20), np.mean)
        assert found.low is not None and found.high is not None
        hits += found.low <= 5.0 <= found.high
    assert 0.86 <= hits / 150 <= 1.0  # a percentile bootstrap of 20 is a little short of 95 %


def test_reports_are_reproducible() -> None:
    values = np.random.default_rng(0).normal(size=9)
    assert summarize(values) == summarize(values)


def test_one_seed_has_a_value_and_no_interval() -> None:
    found = summarize(np.array([3.0]))
    assert found.iqm == found.mean == found.median == Estimate(3.0)
    assert found.deviation is None
    assert band(np.ones((1, 5))).low is None


def test_equal_seeds_have_an_interval_of_no_width() -> None:
    assert estimate(np.full(4, 200.0), iqm) == Estimate(200.0, 200.0, 200.0)
    assert probability_of_improvement(np.full(3, 1.0), np.full(3, 1.0)) == Estimate(0.5, 0.5, 0.5)


def test_the_probability_of_improvement_counts_pairs_and_ties_half() -> None:
    first, second = np.array([1.0, 5.0, 7.0]), np.array([1.0, 6.0])
    wins = sum((a > b) + 0.5 * (a == b) for a in first for b in second)
    assert probability_of_improvement(first, second).value == pytest.approx(wins / 6)
    assert probability_of_improvement(second, first).value == pytest.approx(1 - wins / 6)


def test_a_band_resamples_whole_seeds() -> None:
    rows = np.arange(5.0)[:, None] + np.zeros((5, 7))  # seeds that keep their distance
    found = band(rows)
    assert found.low is not None and found.high is not None
    assert np.allclose(found.iqm, 2.0)
    assert np.ptp(found.low) == np.ptp(found.high) == 0
    assert (found.low < 2.0).all() and (found.high > 2.0).all()


def test_a_hundred_seeds_are_no_burden() -> None:
    found = band(np.random.default_rng(0).normal(size=(100, 200)))
    assert found.low is not None and found.low.shape == (200,)
