"""States lie where the environment itself has them, and cells are called what Targets takes."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.agents import MapLine, map_line
from spade_bdi_rl_worker.learning.pursuits import Pursuit
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.settings import LearningSettings
from spade_bdi_rl_worker.learning.state_map import NoMapError, map_fields
from spade_bdi_rl_worker.learning.world import World
from spade_bdi_rl_worker.targets import Targets


def drawn(world: World) -> MapLine:
    fields = map_fields(world)
    assert fields is not None
    found = map_line({"kind": "map", **fields})
    assert isinstance(found, MapLine), "it keeps to the contract"
    return found


@pytest.mark.parametrize(
    ("env_id", "env_kwargs"),
    [
        ("FrozenLake-v1", {}),
        ("FrozenLake-v1", {"desc": ["SFH", "FFG"]}),
        ("FrozenLake-v1", {"random_map": {"size": 64, "seed": 1}}),
        ("CliffWalking-v1", {}),
    ],
)
def test_every_cell_has_its_state_and_a_name_that_is_a_target(
    env_id: str, env_kwargs: dict[str, Any]
) -> None:
    world = World.make(env_id, env_kwargs)
    found = drawn(world)
    assert found.states == (tuple(range(world.n_states)),)
    targets = Targets(world)
    for cell, name in enumerate(found.targets):
        row, col = divmod(cell, found.columns)
        if name:
            assert targets.state_of(name) == found.states[0][cell]
            assert name == f"row {row + 1}, column {col + 1}"
        else:
            assert found.cells[row][col] == "cliff"
    assert len(set(found.targets)) >= found.cell_count - 10


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_actions_move_on_the_map_as_it_says(env_id: str) -> None:
    kwargs = {"is_slippery": False} if env_id == "FrozenLake-v1" else {}
    world = World.make(env_id, kwargs)
    found = drawn(world)
    assert set(found.moves) >= {"left", "down", "right", "up"}
    steps = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}
    seen = set()
    for state in range(world.n_states):
        for action, move in enumerate(found.moves):
            if not move:
                continue
            [(_, following, _, is_over), *_] = world.env.unwrapped.P[state][action]
            before, after = found.place_of(state), found.place_of(int(following))
            assert before is not None and after is not None
            (row, col), (to_row, to_col) = (divmod(x[1], found.columns) for x in (before, after))
            way = to_row - row, to_col - col
            if sum(map(abs, way)) == 1 and found.cells[row][col] != "cliff" and not is_over:
                assert way == steps[move], (state, move)
                assert before[0] == after[0]
                seen.add(move)
    assert seen == set(steps)


def test_a_taxi_has_a_layer_for_where_the_passenger_is_and_wants_to_go() -> None:
    world = World.make("Taxi-v4")
    found = drawn(world)
    assert len(found.layers) == 20
    assert "passenger at red, to green" in found.layers
    assert "passenger in the taxi, to blue" in found.layers
    assert found.moves[4:] == ("", "")
    places = set()
    for state in range(500):
        row, col, passenger, destination = world.env.unwrapped.decode(state)
        place = found.place_of(state)
        assert place is not None
        layer, cell = place
        assert cell == 5 * row + col
        stops = ("at red", "at green", "at yellow", "at blue", "in the taxi")
        wanted = f"passenger {stops[passenger]}, to {stops[destination][3:]}"
        assert found.layers[layer] == wanted
        places.add(place)
    assert len(places) == 500
    assert set(found.targets) == {""}, "a cell is many states"
    name = f"row 2, column 3, {found.layers[7]}"
    assert Targets(world).state_of(name) == found.states[7][7]


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Blackjack-v1", "MountainCar-v0"])
def test_what_has_no_map_has_none(env_id: str) -> None:
    assert map_fields(World.make(env_id)) is None


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World.make("FrozenLake-v1", {"random_map": {"size": 64, "seed": 1}})
    monkeypatch.setattr("spade_bdi_rl_worker.learning.state_map.MOST_VALUES", 4 * 64 * 64 - 1)
    with pytest.raises(NoMapError, match=r"4,096 states with 4 actions"):
        map_fields(world)
    monkeypatch.setattr("spade_bdi_rl_worker.learning.state_map.MOST_CELLS", 64 * 63)
    with pytest.raises(NoMapError, match="cells"):
        map_fields(world)


def test_a_real_room_is_drawn_as_it_is_met_and_one_that_changes_is_not() -> None:
    pytest.importorskip("minigrid")
    runtime = QLearningRuntime(World.make("MiniGrid-Empty-5x5-v0"), LearningSettings(), 1)
    runtime.pursue(Pursuit("explore", None, 40))
    found = drawn(runtime.world)
    assert set(found.layers) == {f"facing {way}" for way in ("right", "down", "left", "up")}
    assert (found.rows, found.columns) == (5, 5) and found.cells[3][3] == "goal"
    assert sum(state >= 0 for layer in found.states for state in layer) == runtime.world.n_states
    runtime = QLearningRuntime(World.make("MiniGrid-FourRooms-v0"), LearningSettings(), 1)
    with pytest.raises(NoMapError):
        for _ in range(20):
            runtime.pursue(Pursuit("explore", None, 1))
            map_fields(runtime.world)


class MetRoom:
    """A world like MiniGrid's, as far as its map goes."""

    env_id, n_actions, action_names = "Room-v0", 2, ("turn left", "forward")

    def __init__(self, names: list[str]) -> None:
        from spade_bdi_rl_worker.learning.grid import Grid

        cells: Any = (("wall", "floor"), ("floor", "goal"))
        self.names = names
        self.grid = Grid(2, 2, cells, self._cell_of, is_one_to_one=False)

    def _cell_of(self, state: int) -> tuple[int, int]:
        row, col = self.names[state].split(",")[:2]
        return int(row.split()[1]) - 1, int(col.split()[1]) - 1

    @property
    def n_states(self) -> int:
        return len(self.names)

    def state_name(self, state: int) -> str:
        return self.names[state]


def test_a_room_has_a_layer_for_each_heading_and_grows() -> None:
    names = ["row 1, column 2, facing right"]
    world: Any = MetRoom(names)
    assert drawn(world).layers == ("facing right",)
    names += ["row 1, column 2, facing down", "row 2, column 1, facing right"]
    found = drawn(world)
    assert found.layers == ("facing right", "facing down")
    assert found.states == ((-1, 0, 2, -1), (-1, 1, -1, -1))
    assert found.moves == ("", "") and set(found.targets) == {""}


def test_a_room_whose_states_have_the_same_name_has_no_map() -> None:
    world: Any = MetRoom(["row 1, column 2, facing right"] * 2)
    with pytest.raises(NoMapError, match="differ"):
        map_fields(world)
    many: Any = MetRoom([f"row 1, column 2, facing {number}" for number in range(65)])
    with pytest.raises(NoMapError, match="64 ways"):
        map_fields(many)


def test_a_room_without_states_yet_has_an_empty_map() -> None:
    world: Any = MetRoom([])
    assert drawn(world).states == ((-1,) * 4,)
