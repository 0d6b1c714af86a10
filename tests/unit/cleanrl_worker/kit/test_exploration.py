"""Exploration: the schedule, and who acts at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cleanrl_worker.kit.exploration import epsilon_greedy, exploration_rate

OBSERVATIONS = np.zeros((6, 2), np.float32)


def always_seven(observations: Any) -> Any:
    return np.full(len(observations), 7)


def never_asked(observations: Any) -> Any:
    raise AssertionError("everyone explores")


def test_the_rate_falls_in_a_straight_line_and_stays() -> None:
    rates = [exploration_rate(1.0, 0.1, 100.0, step) for step in (0, 50, 100, 1000)]
    assert rates == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_without_a_time_to_explore_it_starts_at_its_end() -> None:
    assert exploration_rate(1.0, 0.1, 0.0, 0) == 0.1


def test_the_network_is_not_asked_when_all_explore() -> None:
    rng = np.random.default_rng(1)
    seen = {
        action
        for _ in range(50)
        for action in epsilon_greedy(never_asked, OBSERVATIONS, 1.0, 3, rng).tolist()
    }
    assert seen == {0, 1, 2}


def test_nobody_explores_at_zero() -> None:
    rng = np.random.default_rng(1)
    assert epsilon_greedy(always_seven, OBSERVATIONS, 0.0, 3, rng).tolist() == [7] * 6


def test_each_environment_explores_on_its_own_at_the_given_rate() -> None:
    rng = np.random.default_rng(1)
    drawn = np.array([epsilon_greedy(always_seven, OBSERVATIONS, 0.3, 3, rng) for _ in range(1000)])
    assert np.mean(drawn != 7) == pytest.approx(0.3, abs=0.02)
    explorers = (drawn != 7).sum(1)
    assert {0, 1, 2, 3} <= set(explorers.tolist()), "not all together"


def test_actions_are_integers_for_any_number_of_environments() -> None:
    rng = np.random.default_rng(1)
    for rows in (1, 3):
        for epsilon in (0.0, 1.0):
            actions = epsilon_greedy(always_seven, OBSERVATIONS[:rows], epsilon, 3, rng)
            assert actions.shape == (rows,)
            assert actions.dtype == np.int64
