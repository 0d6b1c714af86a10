"""How a simulated episode compares with the recorded one."""

from __future__ import annotations

import math

from mosaic.replay.verdict import DIFFERS, IDENTICAL, ReplayComparison


def comparison_of(
    pairs: list[tuple[float, float]], *, end: tuple[bool, bool] = (True, False), steps: int = 0
) -> ReplayComparison:
    comparison = ReplayComparison(steps or len(pairs), True, False)
    for number, (recorded, simulated) in enumerate(pairs, 1):
        is_last = number == len(pairs)
        comparison.add(number, recorded, simulated, *(end if is_last else (False, False)))
    return comparison


def test_the_same_rewards_and_the_same_end_are_identical() -> None:
    same = [(1.0, 1.0), (0.0, -0.0), (math.nan, math.nan), (-math.inf, -math.inf)]
    verdict = comparison_of(same).verdict()
    assert (verdict.kind, verdict.sentence, verdict.steps) == (IDENTICAL, "identical", 4)


def test_the_first_different_reward_is_named() -> None:
    verdict = comparison_of([(1.0, 1.0), (1.0, 0.0)]).verdict()
    assert verdict.kind == DIFFERS and not verdict.is_identical
    assert verdict.sentence == "differs at step 2: recorded 1.0, simulated 0.0"
    assert (verdict.first_step, verdict.mismatches, verdict.largest_difference) == (2, 1, 1.0)


def test_the_smallest_difference_counts() -> None:
    verdict = comparison_of([(0.1, math.nextafter(0.1, 1))]).verdict()
    assert verdict.kind == DIFFERS and 0 < verdict.largest_difference < 1e-16


def test_all_differences_are_counted_and_the_largest_is_told() -> None:
    verdict = comparison_of([(1.0, 2.0), (1.0, 1.0), (0.0, -7.5)]).verdict()
    assert (verdict.first_step, verdict.mismatches, verdict.largest_difference) == (1, 2, 7.5)
    assert "2 of 3 rewards differ, by 7.5 at most" in verdict.sentence


def test_a_number_that_is_none_differs_by_infinity() -> None:
    assert comparison_of([(1.0, math.nan)]).verdict().largest_difference == math.inf


def test_another_end_is_a_difference() -> None:
    verdict = comparison_of([(1.0, 1.0)], end=(False, True)).verdict()
    assert verdict.sentence == "differs at step 1: recorded it terminated, simulated was cut off"
    verdict = comparison_of([(1.0, 1.0)], end=(False, False)).verdict()
    assert "simulated did not end" in verdict.sentence


def test_an_early_end_is_a_difference() -> None:
    verdict = comparison_of([(1.0, 1.0), (1.0, 1.0)], steps=9).verdict()
    assert verdict.first_step == 2 and verdict.kind == DIFFERS
    assert "the recorded episode has 9 steps, simulated it terminated" in verdict.sentence


def test_steps_seen_again_are_not_counted_again() -> None:
    comparison = ReplayComparison(3, True, False)
    for step in (1, 2, 1, 2):
        comparison.add(step, 1.0, 0.0, False, False)
    assert (comparison.mismatches, comparison.compared) == (2, 2)
