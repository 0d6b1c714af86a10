"""Where the states of a world are on its map, for whoever shows what they are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mosaic.contracts.agents import MOST_CELLS, MOST_LAYERS, MOST_VALUES, MOVES

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.grid import Grid
    from spade_bdi_rl_worker.learning.world import World

_COMPASS = {"west": "left", "south": "down", "east": "right", "north": "up"}
# Where an agent never is, so that it cannot be a subgoal.
_CLOSED = ("wall", "cliff")


class NoMapError(Exception):
    """There is a map, but what the states are worth cannot be shown on it; with the reason."""


def map_fields(world: World) -> dict[str, Any] | None:
    """Those of a line of the kind "map"; None for a world without a map. Raises NoMapError.

    States are met one after the other in some worlds: their map is one of those so far.
    """
    grid = world.grid
    if grid is None:
        return None
    if grid.rows * grid.cols > MOST_CELLS:
        raise NoMapError(f"its map has more than {MOST_CELLS:,} cells")
    if world.n_states * world.n_actions > MOST_VALUES:
        raise NoMapError(
            f"{world.n_states:,} states with {world.n_actions} actions each are more than "
            f"{MOST_VALUES:,} values"
        )
    layers = _layers(world, grid)
    return {
        "rows": grid.rows,
        "columns": grid.cols,
        "cells": [list(row) for row in grid.cells],
        "actions": list(world.action_names),
        "moves": [_move(name) for name in world.action_names],
        "layers": list(layers),
        "states": list(layers.values()),
        "targets": _targets(world, grid),
    }


def _layers(world: World, grid: Grid) -> dict[str, list[int]]:
    """By the part of a state's name that is not its cell's."""
    found: dict[str, list[int]] = {}
    for state in range(world.n_states):
        cell = grid.cell_of(state)
        if cell is None:
            continue
        cell_name = f"row {cell[0] + 1}, column {cell[1] + 1}"
        layer = world.state_name(state).removeprefix(cell_name).removeprefix(", ")
        if layer not in found:
            if len(found) == MOST_LAYERS:
                raise NoMapError(f"states of a cell differ in more than {MOST_LAYERS} ways")
            found[layer] = [-1] * (grid.rows * grid.cols)
        place = cell[0] * grid.cols + cell[1]
        if found[layer][place] >= 0:
            raise NoMapError("states of a cell differ in more than they are called by")
        found[layer][place] = state
    return found or {"": [-1] * (grid.rows * grid.cols)}


def _targets(world: World, grid: Grid) -> list[str]:
    """What `Targets` takes for a cell."""
    names = []
    for row, cells in enumerate(grid.cells):
        for col, kind in enumerate(cells):
            state = None if kind in _CLOSED else grid.state_at(row, col)
            names.append("" if state is None else world.state_name(state))
    return names


def _move(action: str) -> str:
    return action if action in MOVES else _COMPASS.get(action, "")
