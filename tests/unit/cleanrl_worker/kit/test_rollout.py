"""Advantages against the definition, and minibatches of any batch."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from cleanrl_worker.algorithms import ppo, ppo_lstm
from cleanrl_worker.kit.rollout import backward_sums, explained_variance, minibatch_bounds


@pytest.mark.parametrize("algorithm", [ppo, ppo_lstm])
@pytest.mark.parametrize("steps", [1, 2, 7, 128, 130])
def test_advantages_follow_their_definition(steps: int, algorithm: ModuleType) -> None:
    rng = np.random.default_rng(steps)
    shape = (steps, 3)
    rewards, values, next_values = rng.normal(size=(3, *shape)).astype(np.float32)
    terminated = rng.random(shape) < 0.1
    ended = terminated | (rng.random(shape) < 0.1)
    gamma, decay = 0.97, 0.9
    expected = np.zeros(shape)
    for env in range(3):
        following = 0.0
        for step in reversed(range(steps)):
            ahead = 0.0 if terminated[step, env] else next_values[step, env]
            delta = rewards[step, env] + gamma * ahead - values[step, env]
            if ended[step, env]:
                following = 0.0
            following = expected[step, env] = delta + gamma * decay * following
    found = algorithm.generalized_advantages(
        rewards, values, next_values, terminated, ended, gamma, decay
    )
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_sums_do_not_change_their_terms() -> None:
    terms, decays = np.ones((4, 1), np.float32), np.full((4, 1), 0.5, np.float32)
    np.testing.assert_allclose(backward_sums(terms, decays)[:, 0], [1.875, 1.75, 1.5, 1.0])
    assert (terms == 1.0).all()
    assert (decays == 0.5).all()


@pytest.mark.parametrize(
    ("rows", "minibatches", "full_rows", "expected"),
    [
        (512, 4, 512, [0, 128, 256, 384, 512]),
        (2048, 32, 2048, list(range(0, 2049, 64))),
        (80, 4, 512, [0, 80]),
        (300, 4, 512, [0, 150, 300]),
        (10, 3, 10, [0, 3, 6, 10]),
        (1, 4, 512, [0, 1]),
        (3, 8, 3, [0, 1, 2, 3]),
    ],
)
def test_minibatches_cover_every_batch_evenly(
    rows: int, minibatches: int, full_rows: int, expected: list[int]
) -> None:
    assert minibatch_bounds(rows, minibatches, full_rows) == expected


def test_explained_variance_is_one_for_perfect_values_and_defined_for_equal_returns() -> None:
    returns = np.array([1.0, 2.0, 4.0], np.float32)
    assert explained_variance(returns, returns) == pytest.approx(1.0)
    assert explained_variance(np.zeros(3, np.float32), returns) == pytest.approx(0.0)
    assert explained_variance(returns, np.ones(3, np.float32)) == 0.0
