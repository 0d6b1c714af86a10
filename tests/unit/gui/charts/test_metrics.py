"""Which metrics become charts, and what they are called."""

from __future__ import annotations

import pytest

from mosaic.gui.charts.model.metrics import (
    chips_of,
    chosen_charts,
    default_charts,
    evaluated_return,
    is_per_episode,
    ranked,
    title_of,
    unit_of,
)

LEARNER = [
    "charts/SPS",
    "charts/episodic_length",
    "charts/episodic_return",
    "charts/learning_rate",
    "losses/approx_kl",
    "losses/policy_loss",
    "losses/value_loss",
]
EVALUATION = ["eval/avg_discounted_return", "eval/avg_return", "eval/max_return", "eval/episodes"]


def test_the_return_comes_first_then_speed_then_losses() -> None:
    order = ranked(LEARNER)
    assert order[0] == "charts/episodic_return"
    assert order[1] == "charts/SPS"
    assert order[2:4] == ["losses/policy_loss", "losses/value_loss"]
    assert order[-1] == "charts/learning_rate"


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["rollout/ep_len_mean", "rollout/ep_rew_mean", "time/fps"], "rollout/ep_rew_mean"),
        (["rollout/episodic_return", "charts/episodic_return"], "charts/episodic_return"),
        (EVALUATION, "eval/avg_return"),
        (["accuracy", "train/loss"], "train/loss"),
        (["something"], "something"),
    ],
)
def test_whatever_is_closest_to_a_return_is_shown_by_itself(names: list[str], first: str) -> None:
    assert default_charts(names) == [first]


def test_a_run_without_metrics_has_no_charts() -> None:
    assert default_charts([]) == []
    assert chips_of([], []) == []


def test_remembered_charts_are_shown_as_far_as_the_run_has_them() -> None:
    remembered = ["losses/value_loss", "elsewhere/loss", "charts/SPS", "charts/SPS"]
    assert chosen_charts(LEARNER, remembered) == ["losses/value_loss", "charts/SPS"]
    assert chosen_charts(LEARNER, ["elsewhere/loss"]) == ["charts/episodic_return"]


def test_chips_add_the_usual_charts_and_take_all_losses_away_again() -> None:
    chips = {chip.title: chip for chip in chips_of(LEARNER, ["charts/episodic_return"])}
    assert list(chips) == ["return", "SPS", "losses"]
    assert chips["return"].is_shown and not chips["SPS"].is_shown
    assert chips["losses"].names[:2] == ("losses/policy_loss", "losses/value_loss")
    shown = ["losses/approx_kl", "losses/value_loss"]
    losses = next(chip for chip in chips_of(LEARNER, shown) if chip.title == "losses")
    assert losses.is_shown and set(losses.names) == set(shown)


def test_titles_are_words_with_units() -> None:
    assert title_of("charts/episodic_return") == "episodic return"
    assert title_of("eval/avg_return") == "avg return (eval)"
    assert title_of("reward") == "reward"
    assert unit_of("charts/SPS") == "steps/s"
    assert unit_of("charts/episodic_length") == "steps"
    assert unit_of("losses/value_loss") == ""


def test_only_returns_and_lengths_of_single_episodes_count_episodes() -> None:
    assert is_per_episode("charts/episodic_return")
    assert not is_per_episode("rollout/ep_rew_mean")
    assert not is_per_episode("losses/value_loss")


def test_the_typical_return_stands_for_an_evaluation() -> None:
    assert evaluated_return([*LEARNER, *EVALUATION]) == "eval/avg_return"
    assert evaluated_return(LEARNER) == ""
