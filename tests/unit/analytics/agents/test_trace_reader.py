"""A trace is read as it grows, each line once, in order, through rotations and damage."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mosaic.analytics.agents.trace import LONGEST_LINE, AgentsTraceReader, TraceRead
from mosaic.contracts.agents import NoteLine
from mosaic.contracts.manifest import AgentsArtifact
from mosaic.errors import CorruptStoreError

NAMES = AgentsArtifact("agents/trace.jsonl", "agents/trace.1.jsonl")


class Trace:
    """What a worker does with its two files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.newest = folder / NAMES.trace_path
        self.older = folder / NAMES.older_trace_path
        self.newest.parent.mkdir(exist_ok=True)
        self.told = 0

    def tell(self, count: int = 1) -> None:
        for _ in range(count):
            self.raw(note(self.told) + "\n")
            self.told += 1

    def raw(self, text: str | bytes) -> None:
        with self.newest.open("ab") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def rotate(self) -> None:
        os.replace(self.newest, self.older)

    def reader(self, **options: Any) -> AgentsTraceReader:
        return AgentsTraceReader(self.folder, NAMES, may_leave=False, **options)


def note(number: int) -> str:
    said = {"timestamp": 1e9 + number, "agent": "learner", "kind": "note", "text": str(number)}
    return json.dumps(said)


def numbers(read: TraceRead) -> list[int]:
    return [int(line.text) for line in read.lines if isinstance(line, NoteLine)]


def all_numbers(reader: AgentsTraceReader) -> list[int]:
    found, has_more = [], True
    while has_more:
        read = reader.read()
        assert not read.problems
        found += numbers(read)
        has_more = read.has_more
    return found


def test_lines_come_once_as_they_are_written(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    reader = trace.reader()
    assert reader.read() == TraceRead()
    trace.tell(3)
    assert numbers(reader.read()) == [0, 1, 2]
    trace.tell(2)
    assert numbers(reader.read()) == [3, 4]
    assert reader.read() == TraceRead()


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    reader = trace.reader()
    text = note(7)
    for part in (text[:10], text[10:-1], text[-1:]):
        trace.raw(part)
        assert reader.read() == TraceRead()
    trace.raw("\n")
    assert numbers(reader.read()) == [7]


def test_the_older_file_is_read_first(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    trace.tell(5)
    trace.rotate()
    trace.tell(5)
    assert all_numbers(trace.reader()) == list(range(10))


@pytest.mark.parametrize("before", [0, 1, 4])
def test_the_rest_of_a_file_that_was_moved_aside_is_read_first(tmp_path: Path, before: int) -> None:
    trace = Trace(tmp_path)
    trace.tell(before)
    reader = trace.reader()
    found = all_numbers(reader)
    trace.tell(3)
    trace.rotate()
    found += all_numbers(reader)
    trace.tell(3)
    found += all_numbers(reader)
    assert found == list(range(before + 6))


def test_of_two_rotations_between_looks_what_is_still_there_is_read(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    trace.tell(3)
    reader = trace.reader()
    assert all_numbers(reader) == [0, 1, 2]
    trace.tell(1)
    trace.rotate()
    trace.tell(2)
    trace.rotate()
    trace.tell(2)
    assert all_numbers(reader) == [4, 5, 6, 7], "3 was in the file that is gone"


def test_a_look_is_bounded_and_says_that_there_is_more(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    trace.raw("".join(note(number) + "\n" for number in range(60_000)))
    reader = trace.reader()
    first = reader.read()
    assert first.has_more and 0 < len(first.lines) < 60_000
    assert numbers(first) + all_numbers(reader) == list(range(60_000))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(["tell", "many", "rotate", "look", "half"]), max_size=30))
def test_no_line_comes_twice_or_out_of_order(tmp_path: Path, acts: list[str]) -> None:
    trace = Trace(tmp_path)
    for path in (trace.newest, trace.older):
        path.unlink(missing_ok=True)
    reader = trace.reader()
    found: list[int] = []
    rotations = 0  # since the last look
    lost = False
    for act in [*acts, "look"]:
        if act == "tell":
            trace.tell()
        elif act == "many":
            trace.tell(50)
        elif act == "half":
            text = note(trace.told) + "\n"
            trace.raw(text[:30])
            if not rotations:
                found += all_numbers(reader)
            trace.raw(text[30:])
            trace.told += 1
        elif act == "rotate" and trace.newest.exists():
            trace.rotate()
            rotations += 1
            lost = lost or rotations > 1
        elif act == "look":
            found += all_numbers(reader)
            rotations = 0
    assert found == sorted(set(found))
    if not lost:
        assert found == list(range(trace.told))


def test_garbage_is_passed_over_and_counted_with_file_and_place(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    trace.tell()
    place = trace.newest.stat().st_size
    trace.raw(
        b'\xff\xfe garbage\n[1]\n"x"\n{"kind": 4}\n{"kind": "belief", \n' + b"[" * 5000 + b"\n"
    )
    trace.raw('{"n": ' + "9" * 5000 + "}\n\n  \n")
    trace.tell()
    reader = trace.reader()
    read = reader.read()
    assert numbers(read) == [0, 1]
    assert len(read.problems) == 1
    assert str(trace.newest) in read.problems[0]
    assert "7 lines" in read.problems[0] and f"byte {place}" in read.problems[0]
    assert reader.read() == TraceRead(), "it is said once"
    trace.raw("x\n")
    assert "a line is" in reader.read().problems[0]


def test_kinds_of_a_newer_worker_are_no_problem(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    trace.raw('{"timestamp": 1, "agent": "x", "kind": "dream", "text": "sheep"}\n')
    trace.tell()
    read = trace.reader().read()
    assert numbers(read) == [0] and not read.problems


def test_a_line_without_an_end_is_passed_over_in_bounded_looks(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    trace.tell()
    trace.raw(b"x" * (5 * LONGEST_LINE))
    reader = trace.reader()
    problems: list[str] = []
    found: list[int] = []
    looks = 0
    for _ in range(2):
        has_more = True
        while has_more:
            read = reader.read()
            looks += 1
            problems += read.problems
            found += numbers(read)
            has_more = read.has_more
        trace.raw("\n")
        trace.tell()
    assert len(problems) == 1 and "longer than allowed" in problems[0]
    assert found == [0, 1] and looks >= 3


def test_what_is_no_file_is_a_sentence_and_said_once(tmp_path: Path) -> None:
    trace = Trace(tmp_path)
    os.mkfifo(trace.newest)
    reader = trace.reader()
    read = reader.read()
    assert len(read.problems) == 1 and str(trace.newest) in read.problems[0]
    assert not read.has_more
    assert reader.read() == TraceRead()
    trace.newest.unlink()
    trace.tell()
    assert numbers(reader.read()) == [0]


def test_a_run_that_was_imported_may_not_lead_elsewhere(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "secret").write_text(note(0) + "\n")
    (run / "link").symlink_to(tmp_path / "secret")
    for artifact in (
        AgentsArtifact("../secret"),
        AgentsArtifact("trace", "link"),
        AgentsArtifact(str(tmp_path / "secret")),
        AgentsArtifact("a\0b"),
        AgentsArtifact("x" * 5000),
    ):
        with pytest.raises(CorruptStoreError, match="agents"):
            AgentsTraceReader(run, artifact, may_leave=False)
    found = AgentsTraceReader(run, AgentsArtifact("../secret"), may_leave=True).read()
    assert numbers(found) == [0]


def test_a_run_without_a_trace_has_none(tmp_path: Path) -> None:
    assert AgentsTraceReader(tmp_path, AgentsArtifact(), may_leave=False).read() == TraceRead()
