"""A world as a map: which cells it has, what each one is, and in which cell a state is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

CellKind = Literal["floor", "start", "goal", "hole", "wall", "cliff", "stop", "lava", "door"]
_LAKE: dict[str, CellKind] = {"S": "start", "G": "goal", "H": "hole"}
_ROOM: dict[str, CellKind] = {"wall": "wall", "goal": "goal", "lava": "lava", "door": "door"}

Cell = tuple[int, int]  # row and column, from 0


@dataclass(frozen=True)
class Grid:
    rows: int
    cols: int
    cells: tuple[tuple[CellKind, ...], ...]
    # The cell of a state; None where it is unknown.
    cell_of: Callable[[int], Cell | None]
    # Whether each cell is one state, so that a state can be chosen by its cell.
    is_one_to_one: bool

    def state_at(self, row: int, col: int) -> int | None:
        """The state of a cell, where there is just one; None outside the map."""
        is_inside = 0 <= row < self.rows and 0 <= col < self.cols
        return row * self.cols + col if self.is_one_to_one and is_inside else None


def _by_rows(cells: list[list[CellKind]]) -> Grid:
    cols = len(cells[0])
    return Grid(
        len(cells),
        cols,
        tuple(map(tuple, cells)),
        lambda state: divmod(state, cols) if 0 <= state < len(cells) * cols else None,
        is_one_to_one=True,
    )


def lake_grid(core: Any) -> Grid:
    return _by_rows([[_LAKE.get(letter.decode(), "floor") for letter in row] for row in core.desc])


def cliff_grid(core: Any) -> Grid:
    rows, cols = core.shape
    cells: list[list[CellKind]] = [["floor"] * cols for _ in range(rows)]
    for row in range(rows):
        for col in range(cols):
            if core._cliff[row, col]:
                cells[row][col] = "cliff"
    cells[rows - 1][0], cells[rows - 1][cols - 1] = "start", "goal"
    return _by_rows(cells)


def taxi_grid(core: Any) -> Grid:
    cells: list[list[CellKind]] = [["floor"] * 5 for _ in range(5)]
    for row, col in core.locs:
        cells[row][col] = "stop"
    return Grid(
        5,
        5,
        tuple(map(tuple, cells)),
        lambda state: divmod(state // 20, 5) if 0 <= state < 500 else None,
        is_one_to_one=False,
    )


def room_grid(core: Any, cell_of: Callable[[int], Cell | None]) -> Grid:
    """MiniGrid's, as it is after the first reset."""
    room = core.grid
    cells: list[list[CellKind]] = [
        [_ROOM.get(getattr(room.get(col, row), "type", ""), "floor") for col in range(room.width)]
        for row in range(room.height)
    ]
    return Grid(room.height, room.width, tuple(map(tuple, cells)), cell_of, is_one_to_one=False)
