"""Maps, values and lines of traces that no agent made, for tests of what is shown of them."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.agents import MapLine, ValuesLine, map_line

MOVES = ["left", "down", "right", "up"]


def map_data(rows: int = 2, columns: int = 3, **changes: Any) -> dict[str, Any]:
    """A line as a worker writes it: a state for each cell, row by row, all of them floor."""
    cells = rows * columns
    return {
        "kind": "map",
        "rows": rows,
        "columns": columns,
        "cells": [["floor"] * columns for _ in range(rows)],
        "actions": MOVES,
        "moves": MOVES,
        "layers": [""],
        "states": [list(range(cells))],
        "targets": [f"row {i // columns + 1}, column {i % columns + 1}" for i in range(cells)],
        **changes,
    }


def a_map(rows: int = 2, columns: int = 3, **changes: Any) -> MapLine:
    found = map_line(map_data(rows, columns, **changes))
    assert isinstance(found, MapLine)
    return found


def values_data(values: list[list[float] | None], episodes: int = 100) -> dict[str, Any]:
    return {
        "kind": "values",
        "timestamp": 1.0,
        "step": 10 * episodes,
        "episodes": episodes,
        "values": values,
    }


def some_values(*rows: tuple[float, ...] | None, episodes: int = 100) -> ValuesLine:
    """As they are: the reader of files would have made numbers of what is none."""
    return ValuesLine(1.0, 10 * episodes, episodes, rows)
