"""The reference check: same algorithm, same environment, same budget, or a reason why not."""

from __future__ import annotations

import pytest

from mosaic.compare.building import reference_checks
from mosaic.compare.comparison import compare
from mosaic.compare.groups import RunGroup
from mosaic.compare.published import (
    ABOVE,
    BELOW,
    EVALUATION,
    TRAINING,
    UNCHECKED,
    WITHIN,
    PublishedValue,
    check,
    find_published,
    published_values,
)
from mosaic.compare.statistics import Estimate
from tests.compare_samples import (
    RETURNS,
    rising_curve,
    run_record,
    tails_of,
)

PPO = PublishedValue("ppo", "CartPole-v1", 500_000, TRAINING, 490.04, 6.12, "somewhere")


def found(algorithm: str, environment: str, steps: float, kind: str = TRAINING) -> PublishedValue:
    value = find_published(algorithm, environment, steps, kind)
    assert isinstance(value, PublishedValue)
    return value


def test_the_data_is_whole() -> None:
    values = published_values()
    keys = {(v.algorithm, v.environment, v.steps, v.kind) for v in values}
    assert len(keys) == len(values) > 80
    for value in values:
        assert value.kind in (TRAINING, EVALUATION) and value.std >= 0 and value.source
        assert value.steps >= 20_000


def test_the_value_of_the_same_task_and_budget_is_found() -> None:
    assert found("ppo", "CartPole-v1", 499_800).mean == 490.04
    assert found("sac_continuous_action", "HalfCheetah-v4", 1_000_000).mean == 9634.89
    assert found("ppo", "CartPole-v1", 100_000, EVALUATION).mean == 500.0


def test_a_longer_training_is_judged_at_the_published_step() -> None:
    assert found("ppo", "CartPole-v1", 2_000_000).steps == 500_000


@pytest.mark.parametrize(
    ("algorithm", "environment", "steps", "reason"),
    [
        ("sac_continuous_action", "HalfCheetah-v5", 1e6, "HalfCheetah-v5 is not HalfCheetah-v4"),
        ("ppo_atari", "ALE/Pong-v5", 1e7, "ALE/Pong-v5 is not PongNoFrameskip-v4"),
        ("ppo", "CartPole-v1", 30_000, "after 500,000 steps (490.04 ± 6.12); these runs have 30"),
        ("ppo", "Taxi-v3", 1e6, "No value of ppo on Taxi-v3"),
        ("", "CartPole-v1", 1e6, "No value of this algorithm"),
    ],
)
def test_what_cannot_be_compared_is_said(
    algorithm: str, environment: str, steps: float, reason: str
) -> None:
    answer = find_published(algorithm, environment, steps)
    assert isinstance(answer, str) and reason in answer


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (Estimate(490.0, 485.0, 495.0), WITHIN),
        (Estimate(470.0, 465.0, 480.0), WITHIN),  # its interval meets the range
        (Estimate(300.0, 280.0, 310.0), BELOW),
        (Estimate(300.0), BELOW),  # one seed
        (Estimate(505.0, 503.0, 506.0), ABOVE),
    ],
)
def test_verdicts(measured: Estimate, verdict: str) -> None:
    answer = check("mine", PPO, measured, 3)
    assert answer.verdict == verdict
    assert f"is {verdict} the published range of ppo on CartPole-v1" in answer.sentence


def test_a_published_value_without_spread_can_be_met() -> None:
    stuck = PublishedValue("ppo", "MountainCar-v0", 500_000, TRAINING, -200.0, 0.0, "somewhere")
    assert check("mine", stuck, Estimate(-200.0, -200.0, -200.0), 3).verdict == WITHIN
    assert check("mine", stuck, Estimate(-150.0, -160.0, -140.0), 3).verdict == ABOVE


def test_parameters_that_are_not_the_defaults_are_named() -> None:
    assert "not the defaults: gamma" in check("m", PPO, Estimate(490.0), 1, ["gamma"]).sentence


def test_groups_of_a_comparison_are_checked_at_the_published_budget() -> None:
    good = [run_record(n) for n in (1, 2, 3)]
    broken = [run_record(n, settings={"extras": {"algo_params": {"gamma": 0.1}}}) for n in (4, 5)]
    short = [run_record(n) for n in (6,)]
    # Half a million steps that end at 490, then a collapse that nobody has published.
    curves = {run.run_id: rising_curve(run.run_id, 490.0, 500, 1000.0) for run in good}
    curves |= {run.run_id: rising_curve(run.run_id, 30.0, 500, 1000.0) for run in broken}
    curves |= {run.run_id: rising_curve(run.run_id, 490.0, 300, 1000.0) for run in short}
    groups = [
        RunGroup("good", tuple(good)),
        RunGroup("broken", tuple(broken)),
        RunGroup("short", tuple(short)),
    ]
    comparison = compare(RETURNS, groups, curves, tails_of(curves))
    checks = reference_checks(comparison, groups, curves, tails_of(curves))
    assert [item.verdict for item in checks] == [WITHIN, BELOW, UNCHECKED]
    assert "gamma" in checks[1].sentence
