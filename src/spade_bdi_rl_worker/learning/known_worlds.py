"""What people call the states and actions of the environments that come with Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spade_bdi_rl_worker.learning.grid import (
    Cell,
    Grid,
    cliff_grid,
    lake_grid,
    room_grid,
    taxi_grid,
)
from spade_bdi_rl_worker.learning.observing import CountedStates, MetStates, StateReader

_ACTIONS: dict[str, tuple[str, ...]] = {
    "FrozenLake": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
    "Blackjack": ("stick", "hit"),
    "CartPole": ("push left", "push right"),
    "MountainCar": ("push left", "coast", "push right"),
    "Acrobot": ("turn back", "no torque", "turn forth"),
    "MiniGrid": ("turn left", "turn right", "forward", "pick up", "drop", "toggle", "done"),
}
_STOPS = ("red", "green", "yellow", "blue")
_HEADINGS = ("right", "down", "left", "up")
# The module of a class tells what it is, whatever id it was registered with.
_KINDS = {
    "gymnasium.envs.toy_text.frozen_lake": "FrozenLake",
    "gymnasium.envs.toy_text.cliffwalking": "CliffWalking",
    "gymnasium.envs.toy_text.taxi": "Taxi",
    "gymnasium.envs.toy_text.blackjack": "Blackjack",
    "gymnasium.envs.classic_control.cartpole": "CartPole",
    "gymnasium.envs.classic_control.mountain_car": "MountainCar",
    "gymnasium.envs.classic_control.acrobot": "Acrobot",
}


def kind_of(core: Any) -> str:
    """Which of the known environments it is; empty for others."""
    for ancestor in type(core).__mro__:
        if ancestor.__module__ in _KINDS:
            return _KINDS[ancestor.__module__]
        if ancestor.__module__ == "minigrid.minigrid_env":
            return "MiniGrid"
    return ""


def action_names(core: Any, count: int) -> tuple[str, ...]:
    names = _ACTIONS.get(kind_of(core), ())
    return names if len(names) == count else tuple(f"action {index}" for index in range(count))


def grid_of(core: Any, states: StateReader) -> Grid | None:
    match kind_of(core):
        case "FrozenLake":
            return lake_grid(core)
        case "CliffWalking":
            return cliff_grid(core)
        case "Taxi":
            return taxi_grid(core)
        case "MiniGrid" if isinstance(states, MetStates):
            return room_grid(core, states.cell_of)
    return None


def state_namer(core: Any, states: StateReader, grid: Grid | None) -> Callable[[int], str]:
    kind = kind_of(core)
    if kind == "Taxi":
        return lambda state: _taxi_name(*core.decode(state))
    if kind == "Blackjack" and isinstance(states, CountedStates):
        return lambda state: _blackjack_name(*states.digits(state))
    if grid is not None and grid.is_one_to_one:
        return lambda state: _cell_name(grid.cell_of(state))
    return states.name


def _cell_name(cell: Cell | None) -> str:
    return "nowhere" if cell is None else f"row {cell[0] + 1}, column {cell[1] + 1}"


def _taxi_name(row: int, col: int, passenger: int, destination: int) -> str:
    where = "in the taxi" if passenger == 4 else f"at {_STOPS[passenger]}"
    return f"{_cell_name((row, col))}, passenger {where}, to {_STOPS[destination]}"


def _blackjack_name(total: int, dealer: int, ace: int) -> str:
    return f"sum {total}, dealer {dealer}, {'usable' if ace else 'no'} ace"


# MiniGrid: the whole state, also what the agent does not see.


def room_content(core: Any) -> bytes:
    carried = core.carrying.encode() if core.carrying else ()
    place = (tuple(map(int, core.agent_pos)), int(core.agent_dir), tuple(map(int, carried)))
    return bytes(core.grid.encode().tobytes()) + str((place, core.mission)).encode()


def room_about(core: Any) -> tuple[str, Cell]:
    cell = int(core.agent_pos[1]), int(core.agent_pos[0])
    carrying = f", with a {core.carrying.color} {core.carrying.type}" if core.carrying else ""
    return f"{_cell_name(cell)}, facing {_HEADINGS[int(core.agent_dir)]}{carrying}", cell
