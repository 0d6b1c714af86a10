"""What a team may consist of."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.errors import ConfigError
from spade_bdi_rl_worker.agents.settings import CompanionSettings, TeamSettings, shipped_plan

COACH = CompanionSettings("coach", "coach")


@pytest.mark.parametrize(
    ("companions", "sentence"),
    [
        ((), "needs a coach"),
        ((COACH, COACH), "the same name"),
        ((CompanionSettings("learner", "coach"),), "the same name"),
        ((CompanionSettings("A b", "coach"),), "cannot be the name"),
        ((CompanionSettings("../x", "coach"),), "cannot be the name"),
        (tuple(CompanionSettings(f"c{n}", "coach") for n in range(20)), "more than 16"),
    ],
)
def test_a_team_that_cannot_be_is_refused(
    companions: tuple[CompanionSettings, ...], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        TeamSettings(Path("x"), companions=companions)


def test_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="70000 is no port"):
        TeamSettings(Path("x"), port=70_000)


def test_plans_come_along_for_every_role_unless_others_are_given() -> None:
    settings = TeamSettings(Path("x"), plan="!x.")
    assert settings.learner_plan == "!x." and settings.coach == "coach"
    assert settings.plan_of(COACH) == shipped_plan("coach")
    assert "+!live" in shipped_plan("learner") and shipped_plan("observer")
