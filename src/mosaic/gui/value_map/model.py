"""What a map of values says: the best of each cell, its colour and its words, where an agent is."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.contracts.agents import MapLine, ValuesLine
from mosaic.front.human import amount, decimal
from mosaic.gui.theme.tokens import DARK, Palette, contrast

# Nothing happens on from there: what is worth nothing there was never learnt.
_ENDS = frozenset(("goal", "hole", "wall", "cliff", "lava"))
_MOST_ACTIONS = 6  # in words
_TRAIL = 16
_STEPS = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}


@dataclass(frozen=True)
class Cell:
    index: int
    row: int
    column: int
    kind: str
    values: tuple[float, ...]  # by action; empty: never met, or no state is here
    best: float | None
    best_actions: tuple[int, ...]  # empty where none is better than another
    moves: tuple[str, ...]  # of the best actions, each once; empty: it stays
    has_state: bool

    @property
    def is_coloured(self) -> bool:
        """Whether its colour says what it is worth; else it says what it is."""
        if self.best is None or self.kind == "wall":
            return False
        return self.kind not in _ENDS or bool(self.best_actions)

    @property
    def place(self) -> str:
        return f"row {self.row + 1}, column {self.column + 1}"


@dataclass(frozen=True)
class Scale:
    """From worth to colour. It diverges from zero where there is worth on both sides of it."""

    low: float
    high: float

    @property
    def is_diverging(self) -> bool:
        return self.low < 0 < self.high

    def share(self, value: float) -> float:
        """From 0 to 1, or from -1 where it diverges."""
        if self.is_diverging:
            return _bounded(value / max(-self.low, self.high), -1.0)
        span = self.high - self.low
        if span <= 0 or not math.isfinite(span):
            return 0.5 if value else 0.0
        return _bounded((value - self.low) / span, 0.0)


@dataclass(frozen=True)
class MapView:
    """One layer of a map with its values."""

    map: MapLine
    layer: int
    cells: tuple[Cell, ...]
    scale: Scale | None  # None: nothing is known yet

    def words(self, index: int) -> str:
        """`row 2, column 3 · hole · worth 0.41 · best: right 0.41, down 0.33`."""
        cell = self.cells[index]
        parts = [cell.place]
        target = plain(self.map.targets[index])
        if target and target != cell.place:
            parts.append(target)
        if cell.kind != "floor":
            parts.append(cell.kind)
        if cell.best is not None:
            parts += [f"worth {decimal(cell.best)}", _actions(self.map, cell)]
        elif cell.has_state and cell.kind not in _ENDS:
            parts.append("never met")
        return " · ".join(parts)

    def summary(self) -> str:
        size = f"{amount(self.map.rows, 'row')}, {amount(self.map.columns, 'column')}"
        bests = [cell.best for cell in self.cells if cell.best is not None]
        if not bests:
            return f"{size}; nothing is known yet"
        low, high = decimal(min(bests)), decimal(max(bests))
        return f"{size}; {len(bests)} of {len(self.cells)} cells met, worth {low} to {high}"

    def beside(self, index: int, move: str) -> int:
        """The cell one step away, or the same one at an edge."""
        down, right = _STEPS[move]
        row, column = divmod(index, self.map.columns)
        row = min(max(0, row + down), self.map.rows - 1)
        column = min(max(0, column + right), self.map.columns - 1)
        return row * self.map.columns + column


def map_view(map: MapLine, values: ValuesLine | None, layer: int) -> MapView:
    table = values.values if values is not None else ()
    states = map.states[layer]
    cells = tuple(
        _cell(map, index, state, table[state] if 0 <= state < len(table) else None)
        for index, state in enumerate(states)
    )
    return MapView(map, layer, cells, _scale(map, table))


def best_known_layer(map: MapLine, values: ValuesLine) -> int:
    """The one with most states that were met; the first of several."""
    met = {state for state, row in enumerate(values.values) if row}
    counts = [sum(state in met for state in states) for states in map.states]
    return counts.index(max(counts))


def _cell(map: MapLine, index: int, state: int, values: tuple[float, ...] | None) -> Cell:
    row, column = divmod(index, map.columns)
    known = [value for value in values or () if math.isfinite(value)]
    best = max(known, default=None)
    ties: tuple[int, ...] = ()
    if values and best is not None:
        ties = tuple(action for action, value in enumerate(values) if _is_tied(value, best))
        if len(ties) == len(known):
            ties = ()
    moves = (map.moves[action] for action in ties if action < len(map.moves))
    return Cell(
        index,
        row,
        column,
        map.cells[row][column],
        tuple(values or ()),
        best,
        ties,
        tuple(dict.fromkeys(moves)),
        state >= 0,
    )


def _scale(map: MapLine, table: Sequence[tuple[float, ...] | None]) -> Scale | None:
    """The same for all layers, so that a colour means one thing."""
    on_map = {state for states in map.states for state in states if 0 <= state < len(table)}
    bests = [
        max(known)
        for state in on_map
        if (known := [value for value in table[state] or () if math.isfinite(value)])
    ]
    return Scale(min(bests), max(bests)) if bests else None


def _actions(map: MapLine, cell: Cell) -> str:
    if not cell.best_actions:
        return "no action is better than another"
    order = sorted(
        (action for action, value in enumerate(cell.values) if math.isfinite(value)),
        key=lambda action: -cell.values[action],
    )
    told = [f"{_name(map, action)} {decimal(cell.values[action])}" for action in order]
    more = ", …" if len(told) > _MOST_ACTIONS else ""
    return f"best: {', '.join(told[:_MOST_ACTIONS])}{more}"


def _name(map: MapLine, action: int) -> str:
    named = plain(map.actions[action]) if action < len(map.actions) else ""
    return named or f"action {action}"


def cell_number(value: float) -> str:
    """As short as it stands in a cell: `0.917`, `-13`, `4e-08`."""
    if 0 < abs(value) < 0.001 or abs(value) >= 1e5:
        return f"{value:.0e}"
    return decimal(float(f"{value:.3g}"))


def plain(text: str) -> str:
    """In one line, and without what would change the order or the place of letters."""
    if text.isprintable():
        return text.strip()
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _is_tied(value: float, best: float) -> bool:
    return math.isclose(value, best, rel_tol=1e-9, abs_tol=1e-12)


def _bounded(share: float, least: float) -> float:
    return min(1.0, max(least, share)) if math.isfinite(share) else 0.0


class Walk:
    """Where an agent is, and the last cells it came through."""

    def __init__(self, map: MapLine) -> None:
        self._columns = map.columns
        self._places: dict[int, tuple[int, int]] = {}
        for layer, states in enumerate(map.states):
            for cell, state in enumerate(states):
                if state >= 0:
                    self._places.setdefault(state, (layer, cell))
        self.layer: int | None = None
        self.trail: deque[int] = deque(maxlen=_TRAIL)  # the last of it is where the agent is

    @property
    def cell(self) -> int | None:
        return self.trail[-1] if self.trail else None

    def go(self, state: int | None) -> None:
        """A state that is nowhere on the map ends the walk, as None does."""
        place = None if state is None else self._places.get(state)
        if place is None:
            self.layer = None
            self.trail.clear()
            return
        self.layer, cell = place
        if self.trail and not self._is_beside(self.trail[-1], cell):
            self.trail.clear()  # another episode: nobody walked from there to here
        if self.cell != cell:
            self.trail.append(cell)

    def _is_beside(self, one: int, other: int) -> bool:
        (row, column), (other_row, other_column) = (
            divmod(one, self._columns),
            divmod(other, self._columns),
        )
        return abs(row - other_row) + abs(column - other_column) <= 1


# -- Colours: blue is worth more, orange less than nothing; lightness alone says how much


_RAMPS = {
    "dark": (
        ("#222733", "#27406f", "#3f73c8", "#9cc2ff"),
        ("#222733", "#5a3a14", "#b36b12", "#ffc26b"),
    ),
    "light": (
        ("#eef2f9", "#b7cff4", "#5a8fdc", "#1c4a9f"),
        ("#eef2f9", "#f5d3a2", "#d98d2f", "#8f4a00"),
    ),
}
_INKS = ("#000000", "#ffffff")


def colour_of(share: float, palette: Palette) -> str:
    """`share` as a Scale gives it."""
    more, less = _RAMPS["dark" if palette.name == DARK.name else "light"]
    ramp = more if share >= 0 else less
    place = abs(share) * (len(ramp) - 1)
    index = min(int(place), len(ramp) - 2)
    return _mixed(ramp[index], ramp[index + 1], place - index)


def ink_on(colour: str) -> str:
    """What can be read on it."""
    return max(_INKS, key=lambda ink: contrast(ink, colour))


def _mixed(one: str, other: str, share: float) -> str:
    parts = (
        round(int(one[at : at + 2], 16) * (1 - share) + int(other[at : at + 2], 16) * share)
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)
