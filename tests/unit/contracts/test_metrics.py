"""Which metric names of which library are headlines."""

from __future__ import annotations

import pytest

from mosaic.contracts.metrics import headline_of, is_one_episode


@pytest.mark.parametrize(
    ("name", "headline"),
    [
        ("charts/episodic_return", "episodic_return"),
        ("rollout/ep_rew_mean", "episodic_return"),
        ("episode_reward", "episodic_return"),
        ("Episode Reward", "episodic_return"),
        ("ray/tune/episode_reward_mean", "episodic_return"),
        ("charts/episodic_length", "episodic_length"),
        ("rollout/ep_len_mean", "episodic_length"),
        ("charts/SPS", "SPS"),
        ("time/fps", "SPS"),
        ("train/loss", "loss"),
        ("losses/approx_kl", "loss"),
        ("losses/qf1_loss", "loss"),
        ("train/policy_gradient_loss", "loss"),
        ("loss", "loss"),
        ("train/learning_rate", "learning_rate"),
        ("charts/learning_rate", "learning_rate"),
        ("lr", "learning_rate"),
    ],
)
def test_names_of_known_libraries_are_recognised(name: str, headline: str) -> None:
    assert headline_of(name) == headline


@pytest.mark.parametrize(
    "name",
    [
        "eval/mean_reward",
        "evaluation/episodic_return",
        "time/total_timesteps",
        "rollout/success_rate",
        "glossary",
        "rewards/step",
        "",
        "/",
    ],
)
def test_other_names_are_none(name: str) -> None:
    assert headline_of(name) is None


def test_a_mean_is_not_an_episode() -> None:
    assert is_one_episode("charts/episodic_return")
    assert not is_one_episode("rollout/ep_rew_mean")
    assert not is_one_episode("eval/episodic_return")
    assert not is_one_episode("train/loss")
