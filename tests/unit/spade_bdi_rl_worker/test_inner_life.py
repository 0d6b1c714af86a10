"""What agents tell of themselves becomes the info of steps, and lines in a file."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from spade_bdi_rl_worker.inner_life import MAX_CHANGES, MAX_TEXT, InnerLife
from spade_bdi_rl_worker.trace_file import FILE_NAME, OLDER_NAME, TraceFile


def life(notes: list[str] | None = None) -> InnerLife:
    return InnerLife(TraceFile(None), (notes if notes is not None else []).append)


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


def test_a_folder_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = TraceFile(tmp_path / "file" / "below")
    file.write("note", "learner", text="x")
    file.close()
