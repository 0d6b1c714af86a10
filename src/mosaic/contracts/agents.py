"""What agents believe, want and say, and what their tables are worth: two files of lines beside a
run, and what a person may tell the agents while they live.

A worker whose agents deliberate names both files in its `analytics.json` (`agents`). Any worker may
write them; docs/reference/agents.md describes every line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from mosaic.errors import ConfigError

# Longer texts are cut when they are read: they stand in one line of a list.
LONGEST_TEXT = 500
# A map with more cells, or a table with more states, is not written.
MOST_CELLS = 64 * 64
MOST_VALUES = 20_000
MOST_LAYERS = 64
MOVES = ("left", "down", "right", "up")
CELL_KINDS = ("floor", "start", "goal", "hole", "wall", "cliff", "stop", "lava", "door")


# -- What a worker says of its agents, in its capabilities


@dataclass(frozen=True)
class AgentsSupport:
    """How a person talks to the agents of a run: `mosaic control`, the window."""

    # Kinds of goal for the command {"command": "goal", "kind": …, "target": …}.
    goals: tuple[str, ...] = ()
    # The one of them that takes the name of a cell as its target; empty: none does.
    cell_goal: str = ""
    # Roles of agents that take {"command": "plan", "text": …, "to": …}.
    plan_roles: tuple[str, ...] = ()
    # A module: `python -m MODULE --role ROLE` reads plans on its standard input and prints
    # {"ok": …, "problems": [{"line", "column", "message", "is_error"}]}.
    plan_checker: str = ""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AgentsSupport:
        try:
            return cls(
                tuple(map(str, data.get("goals", ()))),
                str(data.get("cell_goal", "")),
                tuple(map(str, data.get("plan_roles", ()))),
                str(data.get("plan_checker", "")),
            )
        except (TypeError, AttributeError) as error:
            raise ConfigError(f"Invalid AgentsSupport: {error}", field="agents") from error


# -- The trace: what goes on inside the agents


@dataclass(frozen=True)
class BeliefLine:
    at: float
    agent: str
    is_added: bool
    text: str
    source: str


@dataclass(frozen=True)
class GoalLine:
    at: float
    agent: str
    event: str  # "added", "achieved", "failed" or "dropped"
    text: str


@dataclass(frozen=True)
class PlanLine:
    at: float
    agent: str
    name: str
    trigger: str


@dataclass(frozen=True)
class IntentionLine:
    at: float
    agent: str
    event: str  # "start", "end" or "fail"
    text: str


@dataclass(frozen=True)
class MessageLine:
    at: float
    agent: str
    is_incoming: bool
    peer: str
    performative: str
    text: str


@dataclass(frozen=True)
class NoteLine:
    at: float
    agent: str
    text: str


@dataclass(frozen=True)
class SkippedLine:
    """So many lines were left out; a state of every agent follows."""

    at: float
    count: int


@dataclass(frozen=True)
class StateLine:
    """All that one agent believes and wants at this moment: a reader may begin here."""

    at: float
    agent: str
    role: str
    beliefs: tuple[tuple[str, str], ...]  # text and source
    goals: tuple[tuple[str, str], ...]  # text and the plan chosen for it, innermost last
    left_out: int = 0  # beliefs that are not listed


TraceLine = (
    BeliefLine
    | GoalLine
    | PlanLine
    | IntentionLine
    | MessageLine
    | NoteLine
    | SkippedLine
    | StateLine
)


def trace_line(data: Any) -> TraceLine | None:
    """None for what is no line of a trace, or one of a kind that is not known yet."""
    if not isinstance(data, dict):
        return None
    at, agent = _time(data.get("timestamp")), _text(data.get("agent"))
    match data.get("kind"):
        case "belief":
            is_added = data.get("added") is True
            return BeliefLine(
                at, agent, is_added, _text(data.get("text")), _text(data.get("source"))
            )
        case "goal":
            return GoalLine(at, agent, _text(data.get("event")), _text(data.get("text")))
        case "plan":
            return PlanLine(at, agent, _text(data.get("name")), _text(data.get("trigger")))
        case "intention":
            return IntentionLine(at, agent, _text(data.get("event")), _text(data.get("text")))
        case "message":
            return MessageLine(
                at,
                agent,
                data.get("direction") == "in",
                _text(data.get("peer")),
                _text(data.get("performative")),
                _text(data.get("text")),
            )
        case "note":
            return NoteLine(at, agent, _text(data.get("text")))
        case "skipped":
            return SkippedLine(at, _count(data.get("count")))
        case "state":
            return StateLine(
                at,
                agent,
                _text(data.get("role")),
                _pairs(data.get("beliefs")),
                _pairs(data.get("goals")),
                _count(data.get("left_out")),
            )
    return None


# -- The map: where states are, and what each action is worth in them


@dataclass(frozen=True)
class MapLine:
    """Where states are. The lines of values that follow belong to it."""

    rows: int
    columns: int
    cells: tuple[tuple[str, ...], ...]  # of CELL_KINDS
    actions: tuple[str, ...]
    moves: tuple[str, ...]  # for each action one of MOVES; empty: it leads nowhere
    # States of one cell differ in something else, such as where a passenger waits: one layer each.
    layers: tuple[str, ...]
    # For each layer the state of every cell, row by row; -1: none.
    states: tuple[tuple[int, ...], ...]
    # The names that the goal of a cell has, row by row; empty: none.
    targets: tuple[str, ...]

    @property
    def cell_count(self) -> int:
        return self.rows * self.columns

    def place_of(self, state: int) -> tuple[int, int] | None:
        """Layer and cell."""
        for layer, states in enumerate(self.states):
            if state in states:
                return layer, states.index(state)
        return None


@dataclass(frozen=True)
class ValuesLine:
    at: float
    step: int
    episodes: int
    # By state: what each action is worth; None for a state that was never met.
    values: tuple[tuple[float, ...] | None, ...]


def map_line(data: Any) -> MapLine | ValuesLine | None:
    """None for what is no such line; a map whose parts do not fit together is none, either."""
    if not isinstance(data, dict):
        return None
    match data.get("kind"):
        case "map":
            return _map(data)
        case "values":
            return _values(data)
    return None


def _map(data: dict[str, Any]) -> MapLine | None:
    rows, columns = data.get("rows"), data.get("columns")
    if not _is_count(rows) or not _is_count(columns) or rows * columns > MOST_CELLS:
        return None
    cells = rows * columns
    try:
        found = MapLine(
            rows,
            columns,
            tuple(
                tuple(kind if kind in CELL_KINDS else "floor" for kind in row)
                for row in data["cells"]
            ),
            tuple(map(_text, data["actions"])),
            tuple(move if move in MOVES else "" for move in data["moves"]),
            tuple(map(_text, data.get("layers") or ("",))),
            tuple(
                tuple(state if _is_index(state) else -1 for state in layer)
                for layer in data["states"]
            ),
            tuple(map(_text, data.get("targets") or ("",) * cells)),
        )
    except (KeyError, TypeError):
        return None
    fits = (
        len(found.cells) == rows
        and all(len(row) == columns for row in found.cells)
        and 0 < len(found.moves) == len(found.actions) <= MOST_VALUES
        and 0 < len(found.layers) == len(found.states) <= MOST_LAYERS
        and all(len(layer) == cells for layer in found.states)
        and len(found.targets) == cells
    )
    return found if fits else None


def _values(data: dict[str, Any]) -> ValuesLine | None:
    rows = data.get("values")
    if not isinstance(rows, list) or len(rows) > MOST_VALUES:
        return None
    values = tuple(
        tuple(map(_number, row)) if isinstance(row, list) and row else None for row in rows
    )
    if sum(len(row) for row in values if row) > MOST_VALUES:
        return None
    return ValuesLine(
        _time(data.get("timestamp")),
        _count(data.get("step")),
        _count(data.get("episodes")),
        values,
    )


# -- One step of an agent: `info.mind`


@dataclass(frozen=True)
class StepOfMind:
    """What an agent wanted and believed when it acted; all of it may be missing."""

    goal: str = ""
    plan: str = ""
    intention: str = ""
    confidence: float | None = None
    q_values: tuple[float, ...] = ()
    is_by_subgoal: bool = False
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    left_out: int = 0


def step_of_mind(info: Any) -> StepOfMind | None:
    """None for a step of an agent that says nothing about itself."""
    told = info.get("mind") if isinstance(info, dict) else None
    if not isinstance(told, dict):
        return None
    beliefs = told.get("beliefs")
    changed = beliefs if isinstance(beliefs, dict) else {}
    confidence = told.get("confidence")
    return StepOfMind(
        _text(told.get("goal")),
        _text(told.get("plan")),
        _text(told.get("intention")),
        _number(confidence) if _is_number(confidence) else None,
        tuple(map(_number, _list(told.get("q_values")))),
        told.get("by_subgoal") is True,
        tuple(map(_text, _list(changed.get("added")))),
        tuple(map(_text, _list(changed.get("removed")))),
        tuple(map(_text, _list(told.get("events")))),
        _count(told.get("left_out")),
    )


# -- Values that may be anything

_LARGEST = 1e300
_LARGEST_COUNT = 2**53
_END_OF_TIME = 2.5e11  # the year 9892: dates beyond cannot be shown


def _text(value: Any) -> str:
    """Of whole characters: half of one cannot be shown or written."""
    if not isinstance(value, str):
        return ""
    return value[:LONGEST_TEXT].encode("utf-8", "replace").decode()


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(value: Any) -> float:
    """Such that the difference of two is finite as well: 0 for everything else."""
    return float(value) if _is_number(value) and abs(value) <= _LARGEST else 0.0


def _time(value: Any) -> float:
    """Seconds that are a date."""
    moment = _number(value)
    return moment if 0.0 <= moment < _END_OF_TIME else 0.0


def _count(value: Any) -> int:
    return max(0, min(int(_number(value)), _LARGEST_COUNT))


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_CELLS


def _is_index(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_VALUES


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_text(item[0]), _text(item[1]))
        for item in _list(value)
        if isinstance(item, list) and len(item) == 2
    )
