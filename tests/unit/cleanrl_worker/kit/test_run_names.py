"""Run folders: every env id makes one safe path component, and comes back from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cleanrl_worker.kit.run_names import RunName, parse_run_name, run_name

UNSAFE = (
    "ALE/Pong-v5",
    "dm_control/cartpole-balance-v0",
    "minigrid:MiniGrid-Empty-8x8-v0",
    "../../x",
)
TEXT = st.text(st.characters(codec="utf-8"), min_size=1)


def test_plain_names_are_what_cleanrl_writes() -> None:
    assert run_name("CartPole-v1", "ppo", 1, 1700000000) == "CartPole-v1__ppo__1__1700000000"


@pytest.mark.parametrize("env_id", UNSAFE)
def test_unsafe_ids_stay_one_component_and_come_back(env_id: str) -> None:
    name = run_name(env_id, "ppo", 3, 17)
    assert Path(name).name == name
    assert not set("/:\\ ") & set(name)
    assert parse_run_name(name) == RunName(env_id, "ppo", 3, 17)


@settings(deadline=None)
@given(env_id=TEXT, exp=TEXT, seed=st.integers(min_value=0))
def test_every_name_comes_back(env_id: str, exp: str, seed: int) -> None:
    assert parse_run_name(run_name(env_id, exp, seed, 5)) == RunName(env_id, exp, seed, 5)


@settings(deadline=None)
@given(exp=st.text(alphabet="_ab", min_size=1), env_id=st.text(alphabet="_ab", min_size=1))
def test_underscores_do_not_move_the_borders(exp: str, env_id: str) -> None:
    assert parse_run_name(run_name(env_id, exp, 0, 5)) == RunName(env_id, exp, 0, 5)


@pytest.mark.parametrize(
    "name",
    ["", "runs", "CartPole-v1", "a__b__c__d", "a__b__1", "__b__1__2", "a__b__1__2x", "a__b__²__2"],
)
def test_other_names_are_not_taken_for_runs(name: str) -> None:
    assert parse_run_name(name) is None
