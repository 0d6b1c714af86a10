"""What agents tell of themselves becomes the info of steps, and lines in a file."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from mosaic.analytics.agents.trace import AgentsTraceReader
from mosaic.contracts.agents import LONGEST_TEXT, BeliefLine, SkippedLine, StateLine
from mosaic.contracts.manifest import AgentsArtifact
from spade_bdi_rl_worker.inner_life import MAX_CHANGES, MAX_STATED, MAX_TEXT, InnerLife
from spade_bdi_rl_worker.trace_file import FILE_NAME, MESSAGES_PER_S, OLDER_NAME, TraceFile

ROLES = {"learner": "learner", "coach": "coach"}


def life(notes: list[str] | None = None, file: TraceFile | None = None) -> InnerLife:
    say = (notes if notes is not None else []).append
    return InnerLife(file or TraceFile(None), say, ROLES)


def test_plans_are_those_of_goals_that_are_being_pursued() -> None:
    found = life()
    learner = found.trace_of("learner")
    learner.goal("added", "live")
    learner.plan("live", "+!live")
    learner.goal("added", "choose")
    learner.plan("otherwise_explore", "+!choose")
    learner.goal("added", "batch_size(_X_1)")
    learner.plan("+!batch_size(N) (line 95)", "+!batch_size(N)")
    assert list(found.plans) == ["live", "otherwise_explore"], "those without a name say nothing"
    learner.goal("achieved", "batch_size(50)")
    learner.plan("new_demand", "+demand(R)")
    learner.goal("achieved", "choose")
    assert list(found.plans) == ["live"]
    learner.goal("achieved", "never added")


def test_beliefs_are_told_once_and_what_came_and_went_not_at_all() -> None:
    found = life()
    learner = found.trace_of("learner")
    learner.belief(True, "episodes(1)", "percept")
    learner.belief(False, "episodes(0)", "percept")
    learner.belief(True, "x", "self")
    learner.belief(False, "x", "self")
    found.trace_of("coach").belief(True, "demand(1)", "self")
    told = found.take_changes()
    assert told == {"beliefs": {"added": ["episodes(1)"], "removed": ["episodes(0)"]}}
    assert found.take_changes() == {}


def test_what_is_told_with_a_step_stays_small() -> None:
    found = life()
    learner = found.trace_of("learner")
    for number in range(1000):
        learner.belief(True, f"b({number}, {'x' * 500})", "self")
        learner.message("in", "coach", "tell", "y" * 10_000)
    told = found.take_changes()
    assert len(told["beliefs"]["added"]) == len(told["events"]) == MAX_CHANGES
    assert all(len(text) <= MAX_TEXT for text in [*told["beliefs"]["added"], *told["events"]])
    assert told["left_out"] == 2 * (1000 - MAX_CHANGES)


def test_memory_is_what_an_agent_did_not_perceive() -> None:
    found = life()
    learner = found.trace_of("learner")
    learner.belief(True, "episodes(1)", "percept")
    learner.belief(True, "demand(0.7)", "self")
    learner.belief(True, "praise(1)", "coach")
    learner.belief(True, "missed(0)", "self")
    learner.belief(False, "missed(0)", "self")
    assert found.memory() == {"learner": ["demand(0.7)", "praise(1)[source(coach)]"]}


def test_settling_waits_for_messages_on_their_way() -> None:
    found = life()
    learner, coach = found.trace_of("learner"), found.trace_of("coach")
    began = time.monotonic()
    found.settle()
    assert time.monotonic() - began < 0.03, "nobody has said anything"
    learner.message("out", "coach", "tell", "progress")

    def answer() -> None:
        time.sleep(0.2)
        coach.message("in", "learner", "tell", "progress")
        coach.message("out", "learner", "tell", "praise")
        time.sleep(0.1)
        learner.message("in", "coach", "tell", "praise")

    thread = threading.Thread(target=answer)
    began = time.monotonic()
    thread.start()
    found.settle()
    assert 0.3 <= time.monotonic() - began < 2.5
    thread.join()


def test_notes_say_whose_they_are() -> None:
    notes: list[str] = []
    found = life(notes)
    found.trace_of("learner").note("one")
    found.trace_of("coach").note("two")
    assert notes == ["one", "coach: two"]


def test_the_file_is_bounded_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    now = [100.0]
    file = TraceFile(tmp_path, clock=lambda: now[0], max_bytes=2000, lines_per_s=10)
    for second in range(20):
        now[0] = 100.0 + second
        for number in range(15):
            file.write("belief", "learner", text=f"b({number})")
    file.close()
    texts = [(tmp_path / name).read_text() for name in (OLDER_NAME, FILE_NAME)]
    assert all(len(text) <= 3000 for text in texts)
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert {"count": 5}.items() <= next(x for x in lines if x["kind"] == "skipped").items()
    assert [line["timestamp"] for line in lines] == sorted(line["timestamp"] for line in lines)


def lines_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def states_in(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {line["agent"]: line for line in lines if line["kind"] == "state"}


def test_a_file_begins_with_what_all_agents_believe_and_want(tmp_path: Path) -> None:
    found = life(file=(file := TraceFile(tmp_path)))
    found.trace_of("learner").belief(True, "patience(5)", "self")
    file.close()
    lines = lines_in(tmp_path / FILE_NAME)
    assert [line["kind"] for line in lines] == ["state", "state", "belief"]
    assert {name: line["role"] for name, line in states_in(lines).items()} == ROLES
    assert all(line["beliefs"] == line["goals"] == [] for line in lines[:2])


def test_after_a_rotation_the_state_stands_before_the_line_that_did_not_fit(tmp_path: Path) -> None:
    file = TraceFile(tmp_path, max_bytes=3000, lines_per_s=10**6)
    found = life(file=file)
    learner, coach = found.trace_of("learner"), found.trace_of("coach")
    learner.goal("added", "live")
    learner.plan("live", "+!live")
    learner.goal("added", "choose")
    coach.goal("added", "watch")
    for number in range(40):
        learner.belief(True, f"b({number})", "self")
    file.close()
    lines = lines_in(tmp_path / FILE_NAME)
    older = lines_in(tmp_path / OLDER_NAME)
    assert [line["kind"] for line in lines[:3]] == ["state", "state", "belief"]
    states = states_in(lines)
    assert states["learner"]["goals"] == [["live", "live"], ["choose", ""]]
    assert states["coach"]["goals"] == [["watch", ""]]
    last_before = older[-1]["text"]
    first_after = lines[2]["text"]
    told = states["learner"]["beliefs"]
    assert told[-1] == [last_before, "self"] and [first_after, "self"] not in told
    assert (tmp_path / OLDER_NAME).stat().st_size <= 3000


def test_after_lines_were_left_out_the_state_has_what_they_said(tmp_path: Path) -> None:
    now = [100.0]
    file = TraceFile(tmp_path, clock=lambda: now[0], lines_per_s=10)
    learner = (found := life(file=file)).trace_of("learner")
    for number in range(30):
        learner.belief(True, f"b({number})", "self")
    now[0] = 101.0
    learner.belief(False, "b(3)", "self")
    found.trace_of("coach").belief(True, "x", "learner")
    for number in range(20):
        learner.belief(False, f"b({number + 5})", "self")
    file.close()
    kinds = [line["kind"] for line in lines_in(tmp_path / FILE_NAME)]
    assert kinds[12:17] == ["skipped", "state", "state", "belief", "belief"]
    lines = lines_in(tmp_path / FILE_NAME)
    assert [line["count"] for line in lines if line["kind"] == "skipped"] == [20, 12]
    first = lines[13]
    assert first["agent"] == "learner"
    assert [text for text, _ in first["beliefs"]] == [f"b({number})" for number in range(30)]
    last = states_in(lines)
    assert {text for text, _ in last["learner"]["beliefs"]} == {
        *(f"b({number})" for number in (0, 1, 2, 4, 25, 26, 27, 28, 29))
    }
    assert last["coach"]["beliefs"] == [["x", "learner"]]


def test_plans_that_go_on_and_on_do_not_crowd_out_messages(tmp_path: Path) -> None:
    file = TraceFile(tmp_path, clock=lambda: 100.5, lines_per_s=10)
    learner = life(file=file).trace_of("learner")
    for number in range(1000):
        learner.plan("spin", "+!spin")
        if number >= 500:
            learner.message("in", "coach", "achieve", f"goal({number})")
    file.close()
    kinds = Counter(line["kind"] for line in lines_in(tmp_path / FILE_NAME))
    assert kinds["plan"] == 10 and kinds["message"] == MESSAGES_PER_S
    skipped = [line for line in lines_in(tmp_path / FILE_NAME) if line["kind"] == "skipped"]
    assert [line["count"] for line in skipped] == [990 + 500 - MESSAGES_PER_S]


def test_a_state_lists_so_many_beliefs_and_counts_the_rest(tmp_path: Path) -> None:
    file = TraceFile(tmp_path, lines_per_s=10**6)
    found = life(file=file)
    for number in range(MAX_STATED + 50):
        found.trace_of("coach").belief(True, f"b({number})", "self")
    found.trace_of("coach").belief(True, "seen(1)", "percept")
    state = dict(found.states())["coach"]
    assert len(state["beliefs"]) == MAX_STATED and state["left_out"] == 51
    assert ("seen(1)", "percept") in state["beliefs"]
    assert (f"b({MAX_STATED + 49})", "self") in state["beliefs"], "the newest are listed"


def test_an_agent_that_begins_anew_believes_nothing(tmp_path: Path) -> None:
    file = TraceFile(tmp_path)
    found = life(file=file)
    for trace in (found.trace_of("coach"), found.trace_of("learner")):
        trace.belief(True, "x", "self")
        trace.belief(True, "seen(1)", "percept")
        trace.goal("added", "watch")
    found.forget("coach")
    file.close()
    assert found.memory() == {"learner": ["x"]}
    states = dict(found.states())
    assert states["coach"]["beliefs"] == states["coach"]["goals"] == []
    assert states["learner"]["goals"] == [["watch", ""]]
    last = lines_in(tmp_path / FILE_NAME)[-1]
    assert (last["kind"], last["agent"], last["role"]) == ("state", "coach", "coach")


def test_an_attempt_that_follows_one_killed_within_a_line_can_be_read(tmp_path: Path) -> None:
    learner = life(file=(file := TraceFile(tmp_path))).trace_of("learner")
    learner.belief(True, "old", "self")
    file.close()
    with (tmp_path / FILE_NAME).open("a") as half:
        half.write('{"timestamp": 1, "agent": "lear')
    learner = life(file=(file := TraceFile(tmp_path))).trace_of("learner")
    learner.belief(True, "new", "self")
    file.close()
    reader = AgentsTraceReader(tmp_path, AgentsArtifact(FILE_NAME, OLDER_NAME), may_leave=False)
    read = reader.read()
    assert [type(line) for line in read.lines] == 2 * [StateLine, StateLine, BeliefLine]
    assert read.lines[3].beliefs == (), "the first attempt's belief is gone"  # type: ignore[union-attr]
    assert len(read.problems) == 1 and FILE_NAME in read.problems[0]


def test_texts_in_the_file_are_cut(tmp_path: Path) -> None:
    learner = (found := life(file=(file := TraceFile(tmp_path)))).trace_of("learner")
    learner.belief(True, "x" * 10_000, "self")
    learner.message("out", "coach", "tell", "y" * 100_000)
    found.forget("nobody")
    learner.goal("added", "z" * 10_000)
    file.close()
    assert (tmp_path / FILE_NAME).stat().st_size < 4 * LONGEST_TEXT + 2000


def test_a_reader_of_two_files_and_gaps_comes_to_what_the_agents_believe(tmp_path: Path) -> None:
    now = [100.0]
    file = TraceFile(tmp_path, clock=lambda: now[0], max_bytes=20_000, lines_per_s=40)
    found = life(file=file)
    reader = AgentsTraceReader(tmp_path, AgentsArtifact(FILE_NAME, OLDER_NAME), may_leave=False)
    believed: dict[str, set[tuple[str, str]]] = {}
    kinds = set()

    def look() -> None:
        has_more = True
        while has_more:
            read = reader.read()
            assert not read.problems
            has_more = read.has_more
            for line in read.lines:
                kinds.add(type(line))
                if isinstance(line, StateLine):
                    believed[line.agent] = set(line.beliefs)
                elif isinstance(line, BeliefLine):
                    change = set.add if line.is_added else set.discard
                    change(believed[line.agent], (line.text, line.source))

    for step in range(2000):
        now[0] = 100.0 + step / 50
        agent = found.trace_of("learner" if step % 3 else "coach")
        source = "percept" if step % 5 == 0 else "self"
        agent.belief(True, f"b({step % 60})", source)
        agent.belief(False, f"b({step * 7 % 60})", source)
        if step % 170 == 0:
            look()
    now[0] += 10
    found.trace_of("learner").belief(True, "last", "self")
    file.close()
    look()
    assert SkippedLine in kinds and (tmp_path / OLDER_NAME).exists()
    for name, state in found.states():
        assert believed[name] == set(state["beliefs"])


def test_a_folder_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = TraceFile(tmp_path / "file" / "below")
    file.write("note", "learner", text="x")
    file.close()
