"""What is told about an environment."""

from __future__ import annotations

from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
from mosaic.gui.game_info.model import game_info, nothing_known
from tests.unit.gui.bundle_samples import info, installed

CART = EnvironmentInfo(
    id="CartPole-v1",
    family="classic_control",
    summary="Push a cart.",
    observation_space="Box((4,), float32)",
    action_space="Discrete(2)",
    action_kind="discrete",
    observation_kind="vector",
    render_modes=("rgb_array",),
    control_modes=("human", "agent"),
    max_episode_steps=500,
    reward_threshold=475.0,
)


def test_facts_are_words_with_units() -> None:
    facts = {fact.name: fact.value for fact in game_info(CART).facts}
    assert facts["Longest episode"] == "500 steps"
    assert facts["Solved at"] == "mean return 475"
    assert facts["Played by"] == "people with a keyboard and agents"
    assert "Algorithms" not in facts  # none are known


def test_keys_are_told_where_people_can_play() -> None:
    facts = {fact.name: fact.value for fact in game_info(CART).facts}
    assert "←" in facts["Keys"] and "→" in facts["Keys"]
    not_for_people = EnvironmentInfo.from_dict({**CART.to_dict(), "control_modes": ["agent"]})
    assert "Keys" not in {fact.name for fact in game_info(not_for_people).facts}


def test_only_algorithms_that_fit_are_named() -> None:
    algorithms = [
        AlgorithmInfo("dqn", "w", "", action_spaces=("discrete",)),
        AlgorithmInfo("sac", "w", "", action_spaces=("continuous",)),
        AlgorithmInfo("later", "w", "", is_available=False),
    ]
    facts = {fact.name: fact.value for fact in game_info(CART, algorithms).facts}
    assert facts["Algorithms"] == "dqn"


def test_what_must_be_installed_first_is_said() -> None:
    missing = EnvironmentInfo.from_dict({**CART.to_dict(), "install_command": "pip install it"})
    assert "pip install it" in game_info(missing).missing
    assert game_info(CART).missing == ""
    # Where a bundle holds it, nobody has to type anything.
    told = game_info(missing, bundle=info("learner")).missing
    assert "pip" not in told and "offers to install it" in told
    assert game_info(missing, bundle=installed("learner")).missing == ""


def test_what_the_catalogue_does_not_know_is_said() -> None:
    assert "does not know" in nothing_known("My-v0", True)
    assert "Reading" in nothing_known("My-v0", False)
    assert "Choose" in nothing_known("", True)
