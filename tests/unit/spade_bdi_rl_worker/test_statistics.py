"""What the learner believes of its success does not depend on how episodes come in."""

from __future__ import annotations

import random

import pytest

from spade_bdi_rl_worker.statistics import STAGNATION_WINDOWS, WINDOW, Statistics


def test_however_episodes_are_divided_it_comes_to_the_same() -> None:
    dice = random.Random(1)
    returns = [dice.random() for _ in range(3000)]
    whole, pieces = Statistics(), Statistics()
    whole.add(returns, [value > 0.5 for value in returns])
    rest = returns
    while rest:
        size = dice.randrange(1, 170)
        pieces.add(rest[:size], [value > 0.5 for value in rest[:size]])
        rest = rest[size:]
    assert whole.state_dict() == pieces.state_dict()
    again = Statistics()
    again.load_state_dict(whole.state_dict())
    assert again.state_dict() == whole.state_dict()


def test_means_are_those_of_the_last_episodes() -> None:
    found = Statistics()
    assert (found.mean_return, found.success_rate) == (0.0, 0.0)
    found.add([0.0] * 500 + [1.0] * 50, [False] * 500 + [True] * 50)
    assert found.mean_return == found.success_rate == pytest.approx(0.5)


def test_what_gets_no_better_for_long_stagnates() -> None:
    found = Statistics()
    found.add([1.0] * WINDOW, [True] * WINDOW)
    assert not found.is_stagnating
    found.add([1.0] * WINDOW * STAGNATION_WINDOWS, [True] * WINDOW * STAGNATION_WINDOWS)
    assert found.is_stagnating
    found.add([3.0] * WINDOW, [True] * WINDOW)
    assert not found.is_stagnating
