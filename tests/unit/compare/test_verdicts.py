"""What may be told apart: no more than one A/A comparison in twenty, and honest with few seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from mosaic.compare.curves import Floats
from mosaic.compare.verdicts import (
    ALPHA,
    T_TEST,
    compare_pairs,
    corrected_for_number,
    least_seeds,
    rank_or_t_test,
    seeds_needed,
)

Draw = Callable[[np.random.Generator, int], Floats]

OUTCOMES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.lognormal(sigma=1.5, size=n),
    "learns or not": lambda rng, n: rng.integers(0, 2, n) * 400.0 + rng.normal(size=n),
    "at the ceiling": lambda rng, n: np.minimum(500.0, 495 + 10 * rng.normal(size=n)),
    "two values": lambda rng, n: rng.integers(0, 2, n).astype(np.float64),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize(("seeds", "groups"), [(3, 2), (5, 2), (3, 3), (4, 3)])
def test_equal_groups_are_told_apart_in_five_percent_at_most(
    outcome: str, seeds: int, groups: int
) -> None:
    rng = np.random.default_rng(7)
    trials = 600
    wrong = 0
    for _ in range(trials):
        finals = [OUTCOMES[outcome](rng, seeds) for _ in range(groups)]
        p_values = [
            rank_or_t_test(finals[a], finals[b])[0] for a in range(groups) for b in range(a)
        ]
        wrong += any(p is not None and p <= ALPHA for p in corrected_for_number(p_values))
    # Three standard errors of a rate of 5 % over so many trials.
    assert wrong / trials <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)


def test_a_clear_difference_is_told_with_three_seeds_and_with_five() -> None:
    for seeds in (3, 5):
        rng = np.random.default_rng(seeds)
        pair = compare_pairs([("A", rng.normal(500, 3, seeds)), ("B", rng.normal(20, 3, seeds))])[0]
        assert pair.is_told_apart
        assert pair.sentence.startswith("A is better than B: P(improvement) = 1.00 [1.00, 1.00]")
        assert "every seed above every other" in pair.sentence


def test_the_better_group_comes_first_and_lower_may_be_better() -> None:
    low, high = ("low", np.arange(6.0)), ("high", np.arange(6.0) + 100)
    assert compare_pairs([low, high])[0].first == "high"
    assert compare_pairs([low, high], is_lower_better=True)[0].first == "low"


def test_what_cannot_be_told_apart_says_how_many_seeds_more() -> None:
    pair = compare_pairs([("A", np.array([1.0, 2, 6])), ("B", np.array([0.0, 1.5, 4]))])[0]
    assert not pair.is_told_apart
    assert pair.more_seeds is not None
    assert pair.sentence.startswith("A and B cannot be told apart with 3 seeds each")
    assert f"about {3 + pair.more_seeds} seeds each ({pair.more_seeds} more)" in pair.sentence


def test_one_seed_tells_nothing() -> None:
    pair = compare_pairs([("A", np.array([500.0])), ("B", np.array([1.0]))])[0]
    assert (pair.is_told_apart, pair.p_value, pair.improvement.low) == (False, None, None)
    assert "with 1 seed each. 4 seeds each (3 more) are the least" in pair.sentence
    mixed = compare_pairs([("A", np.array([500.0])), ("B", np.array([1.0, 2.0, 3.0]))])[0]
    assert "with 1 and 3 seeds" in mixed.sentence


def test_equal_values_are_not_told_apart_and_no_number_of_seeds_is_promised() -> None:
    for seeds in (2, 3, 6):
        pair = compare_pairs([("A", np.full(seeds, 200.0)), ("B", np.full(seeds, 200.0))])[0]
        assert (pair.is_told_apart, pair.more_seeds) == (False, None)
        assert "100 seeds each would not show it" in pair.sentence


def test_ranks_are_tested_exactly_also_with_ties() -> None:
    first, second = np.array([1.0, 2, 3, 4, 5]), np.array([6.0, 7, 8, 9, 10])
    assert rank_or_t_test(first, second)[0] == pytest.approx(2 / 252)
    rng = np.random.default_rng(2)
    for _ in range(20):
        first, second = rng.normal(size=5), rng.normal(size=6)
        assert rank_or_t_test(first, second)[0] == pytest.approx(
            stats.mannwhitneyu(first, second, method="exact").pvalue
        )
    tied = rank_or_t_test(np.array([1.0, 1, 1, 1]), np.array([2.0, 2, 2, 2]))[0]
    assert tied == pytest.approx(2 / 70)


def test_many_seeds_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=40), rng.normal(0.5, 1, size=30)
    assert rank_or_t_test(first, second)[0] == pytest.approx(
        stats.mannwhitneyu(first, second, method="asymptotic").pvalue
    )


def test_a_t_test_is_never_surer_than_luck_with_two_kinds_of_outcome() -> None:
    p_value, test = rank_or_t_test(np.full(3, 1.0), np.full(3, 500.0))
    assert (p_value, test) == (2.0**-5, T_TEST)


def test_the_correction_for_the_number_of_pairs() -> None:
    assert corrected_for_number([0.01, 0.04, 0.03, None]) == [
        pytest.approx(0.04),
        pytest.approx(0.04 * 4 / 3),
        pytest.approx(0.04 * 4 / 3),
        None,
    ]


def test_seeds_needed_grow_as_the_effect_shrinks() -> None:
    assert least_seeds() == 4
    needed = [seeds_needed(p) for p in (1.0, 0.9, 0.75, 0.65)]
    assert needed == sorted(needed, key=lambda n: n or 0)
    assert needed[0] == 6
    assert seeds_needed(0.5) is None and seeds_needed(0.52) is None
    assert (seeds_needed(1.0, pairs=28) or 0) > 6


def test_the_seeds_it_asks_for_do_show_the_difference() -> None:
    rng = np.random.default_rng(5)
    needed = seeds_needed(0.8)
    assert needed is not None
    shift = np.sqrt(2) * stats.norm.ppf(0.8)  # P(X + shift > Y) = 0.8 for normal X and Y
    found = sum(
        (rank_or_t_test(rng.normal(shift, 1, needed), rng.normal(size=needed))[0] or 1) <= ALPHA
        for _ in range(100)
    )
    assert 60 <= found <= 95  # four times out of five is what was asked for
