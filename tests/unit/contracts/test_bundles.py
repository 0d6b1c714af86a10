from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.bundles import (
    BundleRule,
    InstallPhase,
    InstallProgress,
    VenvNeed,
    holds,
    joined_name,
    needed_venvs,
    split_name,
)
from mosaic.contracts.capabilities import WorkerCapabilities

RULES = (
    BundleRule("learner"),
    BundleRule("atari", "env_id", ("Pong-*", "ALE/*"), unless={"extras.source": "other"}),
    BundleRule("wandb", "extras.track", ("true",)),
    BundleRule("old", python_field="extras.python", where={"extras.source": "other"}),
    BundleRule("old_atari", "env_id", ("Pong-*",), "extras.python", {"extras.source": "other"}),
)


@pytest.mark.parametrize(
    ("config", "needs"),
    [
        ({}, [VenvNeed("learner")]),
        ({"env_id": "CartPole-v1", "extras": {"track": False}}, [VenvNeed("learner")]),
        ({"env_id": "MyPong-v1"}, [VenvNeed("learner")]),
        (
            {"env_id": "ALE/Pong-v5", "extras": {"track": True}},
            [VenvNeed("learner+atari+wandb")],
        ),
        (
            {"env_id": "Pong-v4", "extras": {"source": "other"}},
            [VenvNeed("learner"), VenvNeed("old+old_atari", "extras.python")],
        ),
        (
            {"env_id": "Pong-v4", "extras": {"source": "other", "python": "/venv/bin/python"}},
            [VenvNeed("learner")],
        ),
        ({"env_id": 5, "extras": "nothing"}, [VenvNeed("learner")]),
    ],
)
def test_rules_say_which_venvs_a_run_needs(config: dict[str, Any], needs: list[VenvNeed]) -> None:
    assert needed_venvs(RULES, config) == tuple(needs)


def test_a_worker_without_rules_needs_nothing() -> None:
    assert needed_venvs((), {"env_id": "Pong-v4"}) == ()


def test_what_one_can_do_without_is_needed_as_soon_as_one_rule_cannot() -> None:
    optional = BundleRule("old", python_field="python", is_optional=True)
    assert needed_venvs([optional], {}) == (VenvNeed("old", "python", is_optional=True),)
    strict = BundleRule("games", python_field="python")
    assert needed_venvs([optional, strict], {}) == (VenvNeed("old+games", "python"),)


def test_rules_survive_the_way_to_another_process() -> None:
    capabilities = WorkerCapabilities("learner", bundle_rules=RULES)
    data = capabilities.to_dict()
    data["bundle_rules"][0]["of_a_newer_worker"] = 1
    assert WorkerCapabilities.from_dict(data).bundle_rules == RULES


def test_names_are_joined_in_one_order_and_taken_apart_again() -> None:
    assert joined_name(["learner", "video", "atari", "video"]) == "learner+atari+video"
    assert split_name("learner+atari") == ("learner", "atari")
    for name in ("", "../x", "learner+", "Learner", "a" * 65, "learner atari"):
        assert split_name(name) == ()


def test_progress_survives_the_way_to_another_process() -> None:
    progress = InstallProgress(InstallPhase.FETCHING, "torch", 5, 10, 0.613)
    assert InstallProgress.from_dict(progress.to_dict()) == progress
    assert progress.percent == "61 %" and not progress.is_over


@pytest.mark.parametrize(
    ("name", "needed", "is_held"),
    [
        ("learner+atari", "learner", True),
        ("learner+atari+video", "learner+video", True),
        ("learner", "learner", True),
        ("learner+atari", "learner+video", False),
        ("learners+atari", "learner", False),
        ("other+learner", "learner", False),
        ("learner+../x", "learner", False),
        ("", "", False),
    ],
)
def test_a_larger_venv_has_all_of_a_smaller_one_of_the_same_worker(
    name: str, needed: str, is_held: bool
) -> None:
    assert holds(name, needed) is is_held
