"""Environments as states and actions; what cannot be one is refused in a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from spade_bdi_rl_worker.learning.errors import WorldError
from spade_bdi_rl_worker.learning.world import World


def refusal(env_id: Any, env_kwargs: Any = None, bins: Any = None) -> WorldError:
    with pytest.raises(WorldError) as caught:
        World.make(env_id, env_kwargs, bins=bins)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("env_id", "states", "actions", "has_table"),
    [
        ("FrozenLake-v1", 16, 4, True),
        ("FrozenLake8x8-v1", 64, 4, True),
        ("CliffWalking-v1", 48, 4, True),
        ("CliffWalkingSlippery-v1", 48, 4, True),
        ("Taxi-v4", 500, 6, True),
        ("Blackjack-v1", 704, 2, False),
        ("CartPole-v1", 10_000, 2, False),
        ("MountainCar-v0", 100, 3, False),
    ],
)
def test_what_there_is_is_counted(env_id: str, states: int, actions: int, has_table: bool) -> None:
    world = World.make(env_id)
    assert (world.n_states, world.n_actions, world.table is not None) == (
        states,
        actions,
        has_table,
    )
    assert len(world.action_names) == actions


def test_states_have_names_for_people() -> None:
    assert World.make("FrozenLake-v1").state_name(6) == "row 2, column 3"
    blackjack = World.make("Blackjack-v1")
    state = (14 * 11 + 6) * 2
    assert blackjack.state_name(state) == "sum 14, dealer 6, no ace"
    assert World.make("Taxi-v4").state_name(328) == "row 4, column 2, passenger at yellow, to red"
    assert World.make("MountainCar-v0", bins=[4, 5]).state_name(7) == "bins 2 of 4, 3 of 5"


def test_a_map_says_what_its_cells_are() -> None:
    grid = World.make("FrozenLake-v1", {"desc": ["SFH", "FFG"]}).grid
    assert grid is not None
    assert grid.cells == (("start", "floor", "hole"), ("floor", "floor", "goal"))
    assert grid.state_at(1, 2) == 5
    assert grid.cell_of(5) == (1, 2)
    assert grid.state_at(2, 0) is None
    cliff = World.make("CliffWalking-v1").grid
    assert cliff is not None
    assert cliff.cells[3] == ("start", *["cliff"] * 10, "goal")
    taxi = World.make("Taxi-v4").grid
    assert taxi is not None
    assert taxi.cell_of(328) == (3, 1)
    assert taxi.state_at(3, 1) is None


def test_a_random_map_stays_the_same_and_says_what_it_is() -> None:
    arguments = {"random_map": {"size": 6, "frozen": 0.9, "seed": 4}}
    first, second = (World.make("FrozenLake-v1", arguments) for _ in range(2))
    assert first.env_kwargs == second.env_kwargs
    assert len(first.env_kwargs["desc"]) == 6
    assert World.make("FrozenLake-v1", first.env_kwargs).n_states == 36
    other = World.make("FrozenLake-v1", {"random_map": {"size": 6, "frozen": 0.9, "seed": 5}})
    assert other.env_kwargs != first.env_kwargs


@pytest.mark.parametrize("env_id", ["this:CartPole-v1", "os:FrozenLake-v1", ":x", "a:b:c"])
def test_an_id_that_names_a_module_is_refused_and_nothing_is_imported(env_id: str) -> None:
    sys.modules.pop("this", None)
    error = refusal(env_id)
    assert "names a module" in error.message
    assert "this" not in sys.modules


@pytest.mark.parametrize("env_id", ["", None, 3, "Nothing-v9", "FrozenLake-v77", "Frozen Lake"])
def test_an_unknown_environment_is_refused(env_id: Any) -> None:
    assert refusal(env_id).details["field"] == "env_id"


def test_a_misspelt_environment_is_guessed() -> None:
    assert "FrozenLake-v1" in refusal("FrozenLak-v1").hint


def test_continuous_actions_are_refused() -> None:
    assert "continuous" in refusal("Pendulum-v1").message


@pytest.mark.parametrize(
    ("env_kwargs", "said"),
    [
        ({"desc": ["SFF", "FG"]}, "rows are 2, 3 cells long"),
        ({"desc": ["FFF", "FFG"]}, "without a start"),
        ({"desc": ["SFF", "FFF"]}, "without a goal"),
        ({"desc": ["SHG"]}, "no way leads to the goal"),
        ({"desc": ["SXG"]}, "letter 'X'"),
        ({"desc": []}, "0 rows"),
        ({"desc": "SFG"}, "no list of rows"),
        ({"desc": ["S" * 100, "G" * 100]}, "100 columns"),
        ({"map_name": "5x5"}, "name the map '5x5'"),
        ({"map_name": None}, "neither"),
        ({"random_map": {"size": 1}}, "random_map.size"),
        ({"random_map": {"size": 8, "frozen": 0.1}}, "'frozen' is 0.1"),
        ({"random_map": {"size": 8, "seed": -1}}, "random_map.seed"),
        ({"random_map": {"p": 1}}, "random_map with 'p'"),
        ({"random_map": 8}, "random_map 8"),
        ({"random_map": {}, "map_name": "4x4"}, "name a map and ask for a random one"),
        ({"success_rate": 2.0}, "success_rate 2.0"),
        ({"success_rate": float("nan")}, "nan"),
        ({"reward_schedule": [1, 0]}, "reward_schedule"),
        ({"reward_schedule": [1, 0, float("inf")]}, "reward that is no number"),
        ({"max_episode_steps": 0}, "limit an episode to 0 steps"),
        ({"max_episode_steps": True}, "limit an episode"),
        ({"colour": "blue"}, "do not fit"),
    ],
)
def test_a_lake_that_cannot_be_is_refused(env_kwargs: dict[str, Any], said: str) -> None:
    assert said in refusal("FrozenLake-v1", env_kwargs).message


def test_only_lakes_have_random_maps() -> None:
    assert "only FrozenLake" in refusal("Taxi-v4", {"random_map": {}}).hint


@pytest.mark.parametrize(
    ("bins", "said"),
    [
        (0, "name 0 as a count"),
        (True, "name True"),
        ([2, 2], "2 counts"),
        (300, "different bins"),
        ({"count": 3}, "have no 'count'"),
        ({"counts": 3, "low": [0, 0, 0, 0], "high": [0, 1, 1, 1]}, "low that is not below"),
        ({"counts": 3, "low": [0, 0]}, "there are 4 values"),
        ({"counts": 3, "low": ["a", 0, 0, 0]}, "no list of numbers"),
        ({"counts": 3, "high": [1, 1, 1, float("inf")]}, "need a 'high'"),
    ],
)
def test_bins_that_cannot_be_are_refused(bins: Any, said: str) -> None:
    error = refusal("CartPole-v1", bins=bins)
    assert said in error.message
    assert error.details["field"] == "bins"


def test_bins_are_for_fractions() -> None:
    assert "not put into bins" in refusal("FrozenLake-v1", bins=4).message


def test_a_table_that_would_fill_the_memory_is_refused() -> None:
    error = refusal("MosaicVast-v0")
    assert "25,000,000 values" in error.message


def test_a_limit_of_steps_can_be_given() -> None:
    assert World.make("CliffWalking-v1", {"max_episode_steps": 50}).limit == 50
    assert World.make("CliffWalking-v1").limit is None


class LyingLake(FrozenLakeEnv):
    """Has a table, and does something else."""

    def step(self, a: Any) -> Any:
        observation, reward, ended, truncated, info = FrozenLakeEnv.step(self, a)  # type: ignore[no-untyped-call]
        return observation, reward - 0.1, ended, truncated, info


class FalseLake(FrozenLakeEnv):
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.P[0][0] = [(0.5, 0, 0.0, False)]


class Shelf(gymnasium.Env[Any, Any]):
    """Observations without a number: texts."""

    observation_space = spaces.Text(5)
    action_space = spaces.Discrete(2, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "a", {}

    def step(self, action: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
        assert action in (1, 2)
        return ("b" if action == 1 else "c"), 1.0, action == 2, False, {}


class Vast(Shelf):
    observation_space: Any = spaces.Discrete(5000)
    action_space = spaces.Discrete(5000)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    kinds: dict[str, Any] = {"Lying": LyingLake, "False": FalseLake, "Shelf": Shelf, "Vast": Vast}
    for name, kind in kinds.items():
        gymnasium.register(f"Mosaic{name}-v0", entry_point=kind)
    yield
    for name in kinds:
        del gymnasium.registry[f"Mosaic{name}-v0"]


def test_a_table_that_does_not_tell_what_steps_do_is_not_used() -> None:
    assert World.make("MosaicLying-v0").table is None
    assert World.make("Taxi-v4", {"fickle_passenger": True}).table is None
    assert World.make("Taxi-v4", {"is_rainy": True}).table is not None


def test_a_table_that_is_wrong_in_itself_is_refused() -> None:
    assert "do not add up to 1" in refusal("MosaicFalse-v0").message


def test_states_without_a_number_are_numbered_as_they_are_met() -> None:
    world = World.make("MosaicShelf-v0")
    world.seed(0)
    assert world.reset() == 0
    assert world.step(0)[1] == 1
    assert world.step(1)[1] == 2
    assert world.reset() == 0
    assert world.n_states == 3


def test_rooms_tell_states_apart_by_all_there_is() -> None:
    pytest.importorskip("minigrid")
    world = World.make("MiniGrid-Empty-5x5-v0")
    world.seed(0)
    first = world.reset()
    assert world.state_name(first) == "row 2, column 2, facing right"
    turned = [world.step(1)[1] for _ in range(4)]
    assert turned[-1] == first
    assert len(set(turned)) == 4
    assert world.grid is not None
    assert world.grid.cell_of(first) == (1, 1)
    assert world.grid.cells[0][0] == "wall"


def test_an_environment_whose_package_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)
    assert "needs the package minigrid" in refusal("MiniGrid-Empty-5x5-v0").message


def test_values_beyond_the_bounds_are_in_the_outermost_bin() -> None:
    world = World.make("CartPole-v1", bins=3)
    assert world._states.read(np.array([9.0, 9, 9, 9])) == 80
    assert world._states.read(np.array([-9.0, -9, -9, -9])) == 0
