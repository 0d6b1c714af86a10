"""Values over a map are known so far: in the order of their steps, bounded, whatever is written."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mosaic.analytics.agents import values
from mosaic.analytics.agents.values import AgentsValuesReader, ValuesRead
from mosaic.contracts.manifest import AgentsArtifact
from mosaic.errors import CorruptStoreError

NAME = "values.jsonl"


def map_text(**changes: Any) -> str:
    said = {
        "timestamp": 1.0,
        "kind": "map",
        "rows": 1,
        "columns": 3,
        "cells": [["start", "floor", "goal"]],
        "actions": ["left", "right"],
        "moves": ["left", "right"],
        "layers": [""],
        "states": [[0, 1, 2]],
    }
    return json.dumps({**said, **changes}) + "\n"


def values_text(step: int, value: float = 0.0, states: int = 3) -> str:
    rows = [[value, -value]] * (states - 1) + [None]
    said = {"timestamp": 2.0, "kind": "values", "step": step, "episodes": 1, "values": rows}
    return json.dumps(said) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / NAME


def reader(file: Path, **options: Any) -> AgentsValuesReader:
    return AgentsValuesReader(
        file.parent, AgentsArtifact(values_path=NAME), may_leave=False, **options
    )


def append(file: Path, *texts: str) -> None:
    with file.open("a") as out:
        out.writelines(texts)


def whole(found: AgentsValuesReader) -> ValuesRead:
    read = found.read()
    while read.has_more:
        read = found.read()
    return read


def steps(read: ValuesRead) -> list[int]:
    return [snapshot.step for snapshot in read.snapshots]


def test_map_and_values_come_as_they_are_written(file: Path) -> None:
    found = reader(file)
    assert found.read() == ValuesRead()
    append(file, map_text())
    read = found.read()
    assert read.map is not None and read.map.columns == 3 and not read.snapshots
    append(file, values_text(0), values_text(10, 0.5)[:-10])
    assert steps(found.read()) == [0]
    append(file, values_text(10, 0.5)[-10:])
    read = found.read()
    assert steps(read) == [0, 10]
    assert read.snapshots[1].values == ((0.5, -0.5), (0.5, -0.5), None)
    assert found.read() == read


def test_a_lower_step_replaces_what_was_said_of_later_ones(file: Path) -> None:
    append(file, map_text(), *(values_text(step) for step in (0, 10, 20, 30)))
    found = reader(file)
    assert steps(found.read()) == [0, 10, 20, 30]
    append(file, map_text(), values_text(20, 9.0))
    read = found.read()
    assert steps(read) == [0, 10, 20]
    assert read.snapshots[-1].values[0] == (9.0, -9.0)
    append(file, values_text(0, 7.0))
    assert steps(found.read()) == [0]


def test_many_are_thinned_evenly_with_the_first_and_the_newest(file: Path) -> None:
    append(file, map_text(), *(values_text(step) for step in range(3001)))
    found = steps(whole(reader(file)))
    assert found[0] == 0 and found[-1] == 3000
    assert values.MOST_SNAPSHOTS / 2 - 2 <= len(found) <= values.MOST_SNAPSHOTS
    assert {after - before for before, after in pairwise(found)} == {8}


def test_numbers_in_memory_are_bounded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_NUMBERS", 1000)
    append(file, map_text(), *(values_text(step, 1.0, 50) for step in range(300)))
    read = whole(reader(file))
    assert sum(len(line.values) + 2 * 49 for line in read.snapshots) <= 1000
    assert steps(read)[0] == 0 and steps(read)[-1] == 299


@pytest.mark.parametrize("already", [1, 3, 6, 10])
def test_a_file_that_was_thinned_is_read_anew(file: Path, already: int) -> None:
    """Also where it goes on, at the place read so far, just as the one before did."""
    lines = [values_text(step) for step in range(10, 20)]
    append(file, map_text(), *lines[:already])
    found = reader(file)
    assert len(found.read().snapshots) == already
    thinned = file.with_name("new")
    thinned.write_text("".join([map_text(), *lines[::2], *[values_text(30)] * 5]))
    os.replace(thinned, file)
    assert steps(whole(found)) == [10, 12, 14, 16, 18, 30]


def test_what_was_known_stands_until_a_new_file_is_read(file: Path) -> None:
    lines = [values_text(step, 0.5, 400) for step in range(200)]
    append(file, map_text(states=[[0, 1, 2]]), *lines)
    found = reader(file, most_bytes=100_000)
    before = steps(whole(found))
    thinned = file.with_name("new")
    new = [values_text(step) for step in range(9000, 12_000)]
    thinned.write_text("".join([map_text(timestamp=2.0), *lines[:2], *new]))
    os.replace(thinned, file)
    read = found.read()
    seen = 0
    while read.has_more:
        assert steps(read) == before
        read = found.read()
        seen += 1
    assert seen and steps(read)[-1] == 11_999


def test_a_map_of_more_states_keeps_what_is_known_another_one_does_not(file: Path) -> None:
    append(file, map_text(states=[[0, -1, -1]]), values_text(0, states=2), map_text())
    found = reader(file)
    read = found.read()
    assert read.map is not None and read.map.states == ((0, 1, 2),) and steps(read) == [0]
    append(file, map_text(cells=[["start", "hole", "goal"]]))
    assert steps(found.read()) == []


def test_what_means_nothing_is_passed_over_and_counted(file: Path) -> None:
    early = values_text(1)
    append(
        file,
        early,  # of no map yet
        map_text(),
        map_text(rows=7),
        "garbage\n",
        json.dumps({"kind": "values", "step": 2, "values": [[1.0]]}) + "\n",  # of one action
        json.dumps({"kind": "values", "step": 2, "values": [None] * 30_000}) + "\n",
        json.dumps({"kind": "something newer"}) + "\n",
        values_text(3),
    )
    read = reader(file).read()
    assert steps(read) == [3]
    assert len(read.problems) == 1
    assert str(file) in read.problems[0] and "5 lines" in read.problems[0]
    assert "byte 0" in read.problems[0]


def test_what_is_no_file_is_a_sentence(file: Path) -> None:
    os.mkfifo(file)
    found = reader(file)
    read = found.read()
    assert len(read.problems) == 1 and str(file) in read.problems[0] and not read.has_more
    assert found.read() == ValuesRead()


def test_a_run_that_was_imported_may_not_lead_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(CorruptStoreError, match=r"agents\.values_path"):
        AgentsValuesReader(tmp_path, AgentsArtifact(values_path="../x"), may_leave=False)


def test_a_run_without_values_has_none(tmp_path: Path) -> None:
    assert AgentsValuesReader(tmp_path, AgentsArtifact(), may_leave=False).read() == ValuesRead()
