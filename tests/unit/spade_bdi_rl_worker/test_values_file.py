"""What the tables are worth, in a file that repeats, stays bounded and harms nobody."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mosaic.analytics.agents.values import AgentsValuesReader, ValuesRead
from mosaic.contracts.manifest import AgentsArtifact
from spade_bdi_rl_worker.learning.grid import Grid
from spade_bdi_rl_worker.learning.pursuits import Pursuit
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.settings import LearningSettings
from spade_bdi_rl_worker.learning.world import World
from spade_bdi_rl_worker.values_file import FILE_NAME, ValuesFile, rounded


def runtime_of(env_id: str = "FrozenLake-v1", seed: int = 1, **settings: Any) -> QLearningRuntime:
    return QLearningRuntime(World.make(env_id), LearningSettings(**settings), seed)


def play(runtime: QLearningRuntime, episodes: int = 20) -> None:
    runtime.pursue(Pursuit("explore", None, episodes))


def read(folder: Path) -> ValuesRead:
    reader = AgentsValuesReader(folder, AgentsArtifact(values_path=FILE_NAME), may_leave=False)
    found = reader.read()
    while found.has_more:
        found = reader.read()
    assert not found.problems
    return found


def never(sentence: str) -> None:
    raise AssertionError(sentence)


def lines_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / FILE_NAME).read_text().splitlines() if line]


def test_the_file_holds_what_the_tables_say(tmp_path: Path) -> None:
    runtime = runtime_of()
    file = ValuesFile(tmp_path, runtime, never)
    file.write()
    play(runtime, 500)
    file.write()
    file.write()
    found = read(tmp_path)
    assert file.is_there and found.map is not None and found.map.rows == 4
    assert [line.step for line in found.snapshots] == [0, runtime.steps], "each step once"
    assert set(found.snapshots[0].values) == {None}, "nothing is known"
    last = found.snapshots[-1]
    assert last.episodes == 500
    table, visits = runtime.q_table(), runtime.visits().sum(axis=1)
    for state, row in enumerate(last.values):
        assert (row is None) == (visits[state] == 0)
        if row is not None:
            assert np.allclose(row, table[state], rtol=5e-4)
    assert max(len(str(value)) for row in last.values if row for value in row) <= 9


def test_what_was_known_beforehand_is_worth_something(tmp_path: Path) -> None:
    teacher, learner = runtime_of(), runtime_of(seed=2)
    play(teacher, 3000)
    learner.warm_start(teacher.state_dict())
    assert rounded(learner) == rounded(teacher)
    optimist = runtime_of(initial_value=1.0)
    assert set(map(type, rounded(optimist))) == {type(None)}


def test_values_that_are_not_finite_are_not_told() -> None:
    runtime = runtime_of()
    play(runtime, 200)
    runtime._main.values[0, 1] = np.inf
    assert rounded(runtime)[0] is None
    json.dumps(rounded(runtime), allow_nan=False)


def test_large_tables_are_told_less_often_and_more_so_in_summary(tmp_path: Path) -> None:
    counts = []
    for env_id, is_full in (
        ("FrozenLake-v1", True),
        ("FrozenLake-v1", False),
        ("CliffWalking-v1", True),
    ):
        folder = tmp_path / f"{env_id}{is_full}"
        runtime = runtime_of(env_id)
        file = ValuesFile(folder, runtime, never, is_full=is_full)
        file.write()
        while runtime.steps < 8000:
            play(runtime, 1)
            file.write_next()
        steps = [line["step"] for line in lines_in(folder)[1:]]
        pace = (1 if is_full else 50) * runtime.world.n_states * runtime.world.n_actions
        assert all(after - before >= pace for before, after in pairwise(steps))
        counts.append(len(steps))
    assert counts[0] > counts[1] >= 2 and counts[0] > counts[2] >= 2


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.123456, 0.1235),
        (-0.99995, -1.0),
        (1234567.0, 1235000.0),
        (-8.6e-9, -8.6e-9),
        (1e-320, 0.0),
        (9.87654e250, 9.877e250),
        (0.0, 0.0),
    ],
)
def test_numbers_are_short(value: float, told: float) -> None:
    runtime = runtime_of()
    play(runtime, 200)
    runtime._main.values[0, 1] = value
    row = rounded(runtime)[0]
    assert row is not None and row[1] == told
    assert len(repr(row[1])) <= 11


def test_runs_repeat(tmp_path: Path) -> None:
    said = []
    for name in ("a", "b"):
        runtime = runtime_of()
        file = ValuesFile(tmp_path / name, runtime, never, max_bytes=20_000)
        for _ in range(100):
            play(runtime, 10)
            file.write_next()
        lines = lines_in(tmp_path / name)
        said.append([{**line, "timestamp": 0} for line in lines])
    assert said[0] == said[1] and len(said[0]) > 10


def test_the_file_is_bounded_and_thinned_evenly(tmp_path: Path) -> None:
    runtime = runtime_of()
    bound = 20_000
    file = ValuesFile(tmp_path, runtime, never, max_bytes=bound)
    reader = AgentsValuesReader(tmp_path, AgentsArtifact(values_path=FILE_NAME), may_leave=False)
    inodes = set()
    at = []
    for _ in range(600):
        at.append(runtime.steps)
        file.write_next()
        play(runtime, 5)
        status = (tmp_path / FILE_NAME).stat()
        assert status.st_size <= bound
        inodes.add(status.st_ino)
        assert not reader.read().problems
    kinds = [line["kind"] for line in lines_in(tmp_path)]
    assert kinds[0] == "map" and set(kinds[1:]) == {"values"}
    steps = [line["step"] for line in lines_in(tmp_path)[1:]]
    assert len(inodes) > 1 and steps[0] == 0 and len(steps) > 10
    gaps = [after - before for before, after in pairwise(steps)]
    assert max(gaps) <= 2.5 * min(gaps), gaps
    assert at[-1] - steps[-1] <= max(gaps), "the newest are there"
    assert [line.step for line in reader.read().snapshots] == steps


def test_a_run_that_is_tried_again_goes_on_in_the_same_file(tmp_path: Path) -> None:
    runtime = runtime_of()
    file = ValuesFile(tmp_path, runtime, never)
    saved = runtime.state_dict()
    steps = []
    for number in range(4):
        play(runtime)
        file.write()
        steps.append(runtime.steps)
        if number == 1:
            saved = runtime.state_dict()
    with (tmp_path / FILE_NAME).open("a") as half:
        half.write('{"timestamp":1,"kind":"values","st')
    again = runtime_of()
    again.load_state_dict(saved)
    file = ValuesFile(tmp_path, again, never)
    file.write()
    reader = AgentsValuesReader(tmp_path, AgentsArtifact(values_path=FILE_NAME), may_leave=False)
    found = reader.read()
    assert [line.step for line in found.snapshots] == steps[:2]
    assert len(found.problems) == 1, "the half line"


def test_a_world_without_a_map_has_no_file(tmp_path: Path) -> None:
    runtime = runtime_of("Blackjack-v1")
    file = ValuesFile(tmp_path / "agents", runtime, never)
    file.write()
    file.write_next()
    assert not file.is_there and not (tmp_path / "agents").exists()
    nowhere = ValuesFile(None, runtime_of(), never)
    nowhere.write()
    assert not nowhere.is_there


def test_tables_that_are_too_large_have_no_file_and_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spade_bdi_rl_worker.learning.state_map.MOST_VALUES", 63)
    notes: list[str] = []
    file = ValuesFile(tmp_path, runtime_of(), notes.append)
    file.write()
    assert not file.is_there and not (tmp_path / FILE_NAME).exists()
    assert len(notes) == 1 and "16 states" in notes[0] and "63 values" in notes[0]


class Rooms:
    """The tables of a world like MiniGrid's: states are numbered as they are met."""

    def __init__(self) -> None:
        cells: Any = (("floor", "floor", "goal"),)
        self.names = ["row 1, column 1, facing right"]
        self.world = self
        self.grid = Grid(1, 3, cells, self._cell_of, is_one_to_one=False)
        self.n_actions, self.action_names = 2, ("turn left", "forward")
        self.settings = LearningSettings()
        self.steps = self.episodes = 0

    @property
    def n_states(self) -> int:
        return len(self.names)

    def state_name(self, state: int) -> str:
        return self.names[state]

    def _cell_of(self, state: int) -> tuple[int, int]:
        return 0, int(self.names[state].split(",")[1].split()[1]) - 1

    def q_table(self) -> Any:
        return np.ones((self.n_states, 2))

    def visits(self) -> Any:
        return np.ones((self.n_states, 2), dtype=int)

    def meet(self, *names: str) -> None:
        self.names += names
        self.steps += 1


def test_the_map_grows_with_what_is_met(tmp_path: Path) -> None:
    rooms: Any = Rooms()
    file = ValuesFile(tmp_path, rooms, never)
    file.write()
    rooms.meet("row 1, column 2, facing right", "row 1, column 2, facing up")
    file.write()
    rooms.meet()
    file.write()
    kinds = [line["kind"] for line in lines_in(tmp_path)]
    assert kinds == ["map", "values", "map", "values", "values"]
    found = read(tmp_path)
    assert [len(line.values) for line in found.snapshots] == [1, 3, 3]
    assert found.map is not None and found.map.layers == ("facing right", "facing up")
    assert found.map.states == ((0, 1, -1), (-1, 2, -1))


def test_states_that_cannot_be_told_apart_end_the_file_with_a_note(tmp_path: Path) -> None:
    rooms: Any = Rooms()
    notes: list[str] = []
    file = ValuesFile(tmp_path, rooms, notes.append)
    file.write()
    assert file.is_there
    rooms.meet(rooms.names[0])
    file.write()
    rooms.meet()
    file.write_next()
    assert not file.is_there and not (tmp_path / FILE_NAME).exists()
    assert len(notes) == 1 and "cannot be shown on the map" in notes[0]


@pytest.mark.parametrize("kind", ["a file", "a folder in its place"])
def test_a_disk_that_refuses_ends_it_with_a_note(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "agents"
    if kind == "a file":
        folder.write_text("")
    else:
        (folder / FILE_NAME).mkdir(parents=True)
    notes: list[str] = []
    file = ValuesFile(folder, runtime_of(), notes.append)
    file.write()
    file.write_next()
    assert len(notes) == 1 and "not kept" in notes[0]
