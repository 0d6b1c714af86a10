"""What is read from the files of agents is sound, whatever was written."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.agents import (
    CELL_KINDS,
    LONGEST_TEXT,
    MOST_CELLS,
    MOST_LAYERS,
    MOST_VALUES,
    MOVES,
    AgentsSupport,
    BeliefLine,
    GoalLine,
    IntentionLine,
    MapLine,
    MessageLine,
    NoteLine,
    PlanLine,
    SkippedLine,
    StateLine,
    StepOfMind,
    ValuesLine,
    map_line,
    step_of_mind,
    trace_line,
)
from mosaic.errors import ConfigError

TRACE_KINDS = ("state", "belief", "goal", "plan", "intention", "message", "note", "skipped")
HEAD = {"timestamp": 12.5, "agent": "learner"}
LAKE: dict[str, Any] = {
    "kind": "map",
    "rows": 2,
    "columns": 2,
    "cells": [["start", "hole"], ["floor", "goal"]],
    "actions": ["left", "down", "right", "up"],
    "moves": ["left", "down", "right", "up"],
    "layers": [""],
    "states": [[0, 1, 2, 3]],
    "targets": ["row 1, column 1", "", "row 2, column 1", "row 2, column 2"],
}

# Anything that JSON can be, and what Python's parser lets through besides.
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), 2**63, -1])
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["\ud800", "\0\x1b[31m<b>", "x" * 5000, *CELL_KINDS, *MOVES, *TRACE_KINDS]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
FIELDS = (
    *("timestamp", "agent", "added", "text", "source", "event", "name", "trigger", "direction"),
    *("peer", "performative", "count", "role", "beliefs", "goals", "left_out"),
)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            {"kind": "belief", "added": True, "text": "b(1)", "source": "coach"},
            BeliefLine(12.5, "learner", True, "b(1)", "coach"),
        ),
        (
            {"kind": "goal", "event": "added", "text": "live"},
            GoalLine(12.5, "learner", "added", "live"),
        ),
        (
            {"kind": "plan", "name": "live", "trigger": "+!live"},
            PlanLine(12.5, "learner", "live", "+!live"),
        ),
        (
            {"kind": "intention", "event": "end", "text": "live"},
            IntentionLine(12.5, "learner", "end", "live"),
        ),
        (
            {
                "kind": "message",
                "direction": "in",
                "peer": "coach",
                "performative": "tell",
                "text": "x",
            },
            MessageLine(12.5, "learner", True, "coach", "tell", "x"),
        ),
        ({"kind": "note", "text": "hello"}, NoteLine(12.5, "learner", "hello")),
        ({"kind": "skipped", "count": 3}, SkippedLine(12.5, 3)),
        (
            {
                "kind": "state",
                "role": "learner",
                "beliefs": [["b(1)", "self"], ["broken"], 4],
                "goals": [["live", ""], ["choose", "p"]],
                "left_out": 2,
            },
            StateLine(
                12.5, "learner", "learner", (("b(1)", "self"),), (("live", ""), ("choose", "p")), 2
            ),
        ),
    ],
)
def test_lines_of_a_trace(said: dict[str, Any], line: Any) -> None:
    assert trace_line(json.loads(json.dumps({**HEAD, **said}))) == line


@pytest.mark.parametrize(
    "data", [None, 1, "belief", [], ["belief"], {}, {"kind": "dance"}, {"kind": ["belief"]}]
)
def test_what_is_no_line_is_none(data: Any) -> None:
    assert trace_line(data) is None
    assert map_line(data) is None
    assert step_of_mind(data) is None


def is_sound(value: Any) -> bool:
    if isinstance(value, str):
        value.encode()
        return len(value) <= LONGEST_TEXT
    if isinstance(value, tuple):
        return all(map(is_sound, value))
    return value is None or math.isfinite(value)


@given(st.sampled_from(TRACE_KINDS), st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_a_line_of_a_trace_is_sound_whatever_is_in_it(kind: str, fields: dict[str, Any]) -> None:
    line = trace_line({**fields, "kind": kind})
    assert line is not None
    assert is_sound(tuple(vars(line).values())), line
    datetime.fromtimestamp(line.at, tz=UTC)
    assert all(count >= 0 for count in vars(line).values() if isinstance(count, int))


@given(VALUES)
def test_a_step_is_sound_whatever_is_in_it(told: Any) -> None:
    names = ("goal", "plan", "intention", "confidence", "q_values", "beliefs", "events", "left_out")
    for info in ({"mind": told}, {"mind": dict.fromkeys(names, told)}):
        found = step_of_mind(info)
        assert found is None or is_sound(tuple(vars(found).values())), found


def test_a_step_of_an_agent() -> None:
    told = {
        "goal": "explore",
        "plan": "p",
        "intention": "live › p",
        "confidence": 0,
        "q_values": [0.5, 1],
        "by_subgoal": True,
        "beliefs": {"added": ["a"], "removed": ["b"]},
        "events": ["e"],
        "left_out": 4,
    }
    assert step_of_mind({"mind": told}) == StepOfMind(
        "explore", "p", "live › p", 0.0, (0.5, 1.0), True, ("a",), ("b",), ("e",), 4
    )
    assert step_of_mind({"mind": {}}) == StepOfMind()
    assert step_of_mind({"other": 1}) is None


def test_a_map_says_where_states_are() -> None:
    found = map_line(json.loads(json.dumps(LAKE)))
    assert isinstance(found, MapLine)
    assert found.cell_count == 4 and found.cells[0] == ("start", "hole")
    assert found.place_of(2) == (0, 2) and found.place_of(4) is None
    assert found.targets[2] == "row 2, column 1"


def test_a_map_may_leave_out_layers_and_targets_and_know_other_cells_and_moves() -> None:
    said = {name: value for name, value in LAKE.items() if name not in ("layers", "targets")}
    said |= {"cells": [["swamp", "hole"], ["floor", 7]], "moves": ["left", "sideways", None, "up"]}
    found = map_line(said)
    assert isinstance(found, MapLine)
    assert found.cells == (("floor", "hole"), ("floor", "floor"))
    assert found.moves == ("left", "", "", "up")
    assert found.layers == ("",) and found.targets == ("",) * 4


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 3},
        {"rows": 0},
        {"rows": True},
        {"rows": "2"},
        {"rows": 2.0},
        {"rows": 10**400},
        {"rows": MOST_CELLS, "columns": 2},
        {"cells": [["floor", "floor"]]},
        {"cells": [["floor"], ["floor"]]},
        {"cells": None},
        {"cells": [None, None]},
        {"actions": []},
        {"actions": ["left"]},
        {"actions": 4},
        {"moves": ["left"]},
        {"states": [[0, 1, 2]]},
        {"states": [[0, 1, 2, 3]] * 2},
        {"states": []},
        {"states": 3},
        {"layers": ["x"] * (MOST_LAYERS + 1), "states": [[0, 1, 2, 3]] * (MOST_LAYERS + 1)},
        {"layers": ["a", "b"]},
        {"targets": ["one"]},
        {"actions": ["x"] * (MOST_VALUES + 1), "moves": [""] * (MOST_VALUES + 1)},
    ],
)
def test_a_map_whose_parts_do_not_fit_together_is_none(change: dict[str, Any]) -> None:
    assert isinstance(map_line(LAKE), MapLine)
    assert map_line({**LAKE, **change}) is None


@given(st.dictionaries(st.sampled_from(sorted(LAKE)), VALUES))
def test_a_map_fits_together_or_is_none(changes: dict[str, Any]) -> None:
    found = map_line({**LAKE, **changes, "kind": "map"})
    if found is None:
        return
    assert isinstance(found, MapLine)
    assert len(found.cells) == found.rows and {len(row) for row in found.cells} == {found.columns}
    assert {kind for row in found.cells for kind in row} <= set(CELL_KINDS)
    assert set(found.moves) <= {"", *MOVES} and len(found.moves) == len(found.actions)
    assert len(found.states) == len(found.layers)
    assert all(len(layer) == found.cell_count == len(found.targets) for layer in found.states)
    assert all(is_sound(text) for text in (*found.actions, *found.layers, *found.targets))
    for state in (-1, 0, 10**9):
        found.place_of(state)


def test_values_are_by_state_and_action() -> None:
    said = {
        "kind": "values",
        "timestamp": 5,
        "step": 100,
        "episodes": 7,
        "values": [[0.5, 1], None, [], "x", [math.nan, "y"], [True, math.inf]],
    }
    assert map_line(said) == ValuesLine(
        5.0, 100, 7, ((0.5, 1.0), None, None, None, (0.0, 0.0), (0.0, 0.0))
    )


@pytest.mark.parametrize(
    "values",
    [
        None,
        {},
        "x",
        [None] * (MOST_VALUES + 1),
        [[0.0] * (MOST_VALUES + 1)],
        [[1.0, 2.0]] * (MOST_VALUES // 2 + 1),
    ],
)
def test_values_that_are_none_or_too_many_are_refused(values: Any) -> None:
    assert map_line({"kind": "values", "step": 1, "values": values}) is None


@given(st.dictionaries(st.sampled_from(["timestamp", "step", "episodes", "values"]), VALUES))
def test_values_are_sound_or_none(fields: dict[str, Any]) -> None:
    found = map_line({**fields, "kind": "values"})
    if found is not None:
        assert isinstance(found, ValuesLine)
        assert is_sound((found.at, *(row for row in found.values)))
        assert 0 <= found.step <= 2**53 and 0 <= found.episodes <= 2**53
        known = [value for row in found.values if row for value in row]
        assert not known or math.isfinite(max(known) - min(known))
        datetime.fromtimestamp(found.at, tz=UTC)


def test_what_a_worker_says_of_its_agents() -> None:
    said = {"goals": ["explore"], "cell_goal": "explore", "plan_roles": ["coach"]}
    assert AgentsSupport.from_dict(said) == AgentsSupport(("explore",), "explore", ("coach",))
    assert AgentsSupport.from_dict({}) == AgentsSupport()
    refused: list[Any] = [[], None, {"goals": 3}, {"plan_roles": None}]
    for wrong in refused:
        with pytest.raises(ConfigError, match="AgentsSupport"):
            AgentsSupport.from_dict(wrong)
