"""What can be told apart, by which test, and how many more seeds it would take. Pure.

An exact Mann-Whitney test where the seeds suffice for it to find anything, else Welch's t-test,
whose p-value is never taken below the chance that two kinds of outcome (a seed that learns, one
that does not) sort themselves into the groups by luck. Corrected for the number of pairs.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from mosaic.compare.curves import Floats
from mosaic.compare.statistics import Estimate, probability_of_improvement, seeds_text

ALPHA = 0.05
POWER = 0.8
MOST_SEEDS = 100
_EXACT_PERMUTATIONS = 20_000
RANK_TEST = "exact Mann-Whitney test"
RANK_TEST_LARGE = "Mann-Whitney test"
T_TEST = "Welch's t-test"
NO_TEST = ""


@dataclass(frozen=True)
class PairVerdict:
    """`first` is the one with the higher probability of improvement over the other."""

    first: str
    second: str
    improvement: Estimate
    p_value: float | None  # corrected for the number of pairs; None: no test is possible
    test: str
    is_told_apart: bool
    more_seeds: int | None  # per group; None: told apart, or more than MOST_SEEDS
    sentence: str


def compare_pairs(
    finals: Sequence[tuple[str, Floats]], is_lower_better: bool = False
) -> list[PairVerdict]:
    """One verdict per pair of groups, from one final performance per seed."""
    sign = -1.0 if is_lower_better else 1.0
    pairs = [
        _ordered((a, sign * first), (b, sign * second))
        for (a, first), (b, second) in combinations(finals, 2)
    ]
    tests = [rank_or_t_test(first, second) for (_, first), (_, second) in pairs]
    corrected = corrected_for_number([p_value for p_value, _ in tests])
    return [
        _verdict(pair, p_value, test, len(pairs))
        for pair, p_value, (_, test) in zip(pairs, corrected, tests, strict=True)
    ]


def _ordered(
    first: tuple[str, Floats], second: tuple[str, Floats]
) -> tuple[tuple[str, Floats], tuple[str, Floats]]:
    wins = np.sign(first[1][:, None] - second[1][None, :]).sum()
    return (second, first) if wins < 0 else (first, second)


def rank_or_t_test(first: Floats, second: Floats) -> tuple[float | None, str]:
    """A two-sided p-value and the name of the test it is from."""
    n, m = len(first), len(second)
    if least_rank_p(n, m) <= ALPHA:
        if math.comb(n + m, n) > _EXACT_PERMUTATIONS:
            result = stats.mannwhitneyu(first, second, method="asymptotic")
            return _probability(result.pvalue), RANK_TEST_LARGE
        return exact_rank_p(first, second), RANK_TEST
    if n < 2 or m < 2:
        return None, NO_TEST
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        p_value = 1.0 if first[0] == second[0] else 0.0
    else:
        moments = [
            number
            for group in (first, second)
            for number in (np.mean(group), np.std(group, ddof=1), len(group))
        ]
        p_value = _probability(stats.ttest_ind_from_stats(*moments, equal_var=False).pvalue)
    return max(p_value, 2.0 ** (1 - n - m)), T_TEST


def exact_rank_p(first: Floats, second: Floats) -> float:
    """The share of all ways to deal the ranks out that are as far from the middle; ties allowed."""
    n, both = len(first), len(first) + len(second)
    ranks = stats.rankdata(np.concatenate((first, second)))
    distances = np.abs(ranks[_deals(both, n)].sum(axis=1) - n * (both + 1) / 2)
    observed = abs(ranks[:n].sum() - n * (both + 1) / 2)
    return float(np.mean(distances >= observed - 1e-9))


@functools.lru_cache(maxsize=8)
def _deals(both: int, n: int) -> NDArray[np.int64]:
    return np.array(list(combinations(range(both), n)))


def _probability(value: float) -> float:
    return 1.0 if math.isnan(value) else min(1.0, float(value))


def least_rank_p(n: int, m: int) -> float:
    """The smallest p-value ranks can give: every seed of one group above all of the other."""
    return 2.0 / math.comb(n + m, n)


def corrected_for_number(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini and Hochberg's step-up correction; pairs without a test count as comparisons.

    Of the differences told, at most one in twenty is expected to be none; where there is no
    difference at all, that is the chance to tell any.
    """
    order = sorted(((p, index) for index, p in enumerate(p_values) if p is not None), reverse=True)
    corrected: list[float | None] = [None] * len(p_values)
    lowest = 1.0
    for place, (p_value, index) in enumerate(order):
        lowest = min(lowest, p_value * len(p_values) / (len(order) - place))
        corrected[index] = lowest
    return corrected


def least_seeds(pairs: int = 1) -> int:
    """Seeds per group below which ranks cannot tell anything apart."""
    return next(n for n in range(2, MOST_SEEDS) if least_rank_p(n, n) <= ALPHA / pairs)


def seeds_needed(probability: float, pairs: int = 1) -> int | None:
    """Seeds per group for a rank test to find this effect four times out of five (Noether)."""
    effect = abs(probability - 0.5)
    if effect < 1e-9:
        return None
    quantiles = stats.norm.ppf(1 - ALPHA / pairs / 2) + stats.norm.ppf(POWER)
    needed = max(least_seeds(pairs), math.ceil(quantiles**2 / (6 * effect**2)))
    return needed if needed <= MOST_SEEDS else None


def _verdict(
    pair: tuple[tuple[str, Floats], tuple[str, Floats]],
    p_value: float | None,
    test: str,
    pairs: int,
) -> PairVerdict:
    (first, above), (second, below) = pair
    improvement = probability_of_improvement(above, below)
    is_told_apart = p_value is not None and p_value <= ALPHA
    fewest = min(len(above), len(below))
    more = None if is_told_apart else _more_seeds(improvement.value, fewest, pairs)
    chance = _chance(improvement)
    if is_told_apart:
        beyond = ", every seed above every other" if improvement.value == 1.0 else ""
        sentence = (
            f"{first} is better than {second}: {chance}{beyond} ({test}, p = {_p_text(p_value)})."
        )
    else:
        counts = _counts_text(len(above), len(below))
        sentence = f"{first} and {second} cannot be told apart with {counts}"
        if fewest > 1:
            sentence += f": {chance}, p = {_p_text(p_value)}"
        sentence += _outlook(sorted((len(above), len(below))), more)
    return PairVerdict(first, second, improvement, p_value, test, is_told_apart, more, sentence)


def _more_seeds(probability: float, fewest: int, pairs: int) -> int | None:
    # One seed says nothing about the size of a difference.
    needed = least_seeds(pairs) if fewest < 2 else seeds_needed(probability, pairs)
    return None if needed is None else max(1, needed - fewest)


def _chance(improvement: Estimate) -> str:
    text = f"P(improvement) = {improvement.value:.2f}"
    if improvement.low is None or improvement.high is None:
        return text
    return f"{text} [{improvement.low:.2f}, {improvement.high:.2f}]"


def _p_text(p_value: float | None) -> str:
    if p_value is None:
        return "unknown"
    return f"{p_value:.3f}" if p_value >= 0.001 else "below 0.001"


def _counts_text(first: int, second: int) -> str:
    return f"{seeds_text(first)} each" if first == second else f"{first} and {second} seeds"


def _outlook(counts: Sequence[int], more: int | None) -> str:
    if more is None:
        return f". If there is a difference, {MOST_SEEDS} seeds each would not show it."
    fewest, most = counts
    bound = "" if fewest == most else "up to "
    plan = f"{seeds_text(fewest + more)} each ({bound}{more} more)"
    if fewest < 2:
        return f". {plan} are the least for a rank test to tell anything."
    return f". If the difference is what it looks like, about {plan} would show it."
