from __future__ import annotations

import json
import math
from typing import Any

from mosaic.injection.outbox import MAX_LINE_BYTES, Outbox, line_of


class Pipe:
    """Takes so many lines, then none until it is emptied."""

    def __init__(self, room: int = 1_000_000) -> None:
        self.room = room
        self.lines: list[bytes] = []

    def __call__(self, line: bytes) -> bool:
        if len(self.lines) >= self.room:
            return False
        self.lines.append(line)
        return True

    def taken(self) -> list[dict[str, Any]]:
        found = [json.loads(line) for lines in self.lines for line in lines.splitlines()]
        self.lines.clear()
        return found


def test_a_metric_is_sent_at_once_and_then_held_back_but_its_last_value_is_never_lost() -> None:
    outbox, pipe = Outbox(interval_s=0.25), Pipe()
    for step in range(100):
        outbox.metric("loss", step / 2, step)
        outbox.drain(10.0 + step / 1000, pipe)
    assert [(m["value"], m["step"]) for m in pipe.taken()] == [(0.0, 0)]
    outbox.drain(10.3, pipe)
    assert pipe.taken() == [{"kind": "metric", "name": "loss", "value": 49.5, "step": 99}]
    outbox.drain(11.0, pipe)
    assert pipe.taken() == []


def test_names_do_not_wait_for_each_other() -> None:
    outbox, pipe = Outbox(interval_s=0.25), Pipe()
    outbox.metric("a", 1.0, 1)
    outbox.drain(10.0, pipe)
    outbox.metric("a", 2.0, 2)
    outbox.metric("b", 3.0, 2)
    outbox.drain(10.1, pipe)
    assert [m["name"] for m in pipe.taken()] == ["a", "b"]
    outbox.drain(10.1, pipe, is_last=True)
    assert [(m["name"], m["value"]) for m in pipe.taken()] == [("a", 2.0)]


def test_a_full_pipe_keeps_the_newest_value_of_each_name() -> None:
    outbox, pipe = Outbox(interval_s=0.0), Pipe(room=0)
    for step in range(5):
        outbox.metric("a", float(step), step)
        outbox.metric("b", float(-step), step)
        assert not outbox.drain(10.0 + step, pipe)
    pipe.room = 10
    assert outbox.drain(20.0, pipe)
    assert [(m["name"], m["value"]) for m in pipe.taken()] == [("a", 4.0), ("b", -4.0)]


def test_the_same_point_through_two_hooks_is_sent_once() -> None:
    outbox, pipe = Outbox(interval_s=0.0), Pipe()
    outbox.metric("a", 1.0, 7)
    outbox.drain(10.0, pipe)
    outbox.metric("a", 1.0, 7)
    outbox.drain(11.0, pipe)
    assert len(pipe.taken()) == 1
    outbox.metric("a", 1.0, 8)
    outbox.drain(12.0, pipe)
    assert [m["step"] for m in pipe.taken()] == [8]


def test_few_episodes_are_sent_one_by_one() -> None:
    outbox, pipe = Outbox(pid=4711), Pipe()
    outbox.episodes([(21.0, 21, 0, 0)])
    outbox.drain(10.0, pipe)
    assert pipe.taken() == [
        {"kind": "episode", "return": 21.0, "length": 21, "env": 0, "pid": 4711}
    ]


def test_many_episodes_share_a_write_that_a_pipe_takes_whole() -> None:
    outbox, pipe = Outbox(), Pipe()
    outbox.episodes([(index / 3, index, index % 8, index) for index in range(999)])
    outbox.episodes([(math.nan, 1, 0, 999)])
    assert outbox.drain(10.0, pipe)
    assert len(pipe.lines) < 25
    assert max(map(len, pipe.lines)) <= MAX_LINE_BYTES
    *messages, last = pipe.taken()
    assert [message["return"] for message in messages] == [index / 3 for index in range(999)]
    assert [message["env"] for message in messages] == [index % 8 for index in range(999)]
    assert math.isnan(last["return"])


def test_episodes_stay_in_order_when_the_pipe_is_full() -> None:
    outbox, pipe = Outbox(), Pipe(room=1)
    outbox.episodes([(float(index), 1, 0, index) for index in range(200)])
    assert not outbox.drain(10.0, pipe)
    pipe.room = 100
    assert outbox.drain(10.0, pipe)
    assert [message["return"] for message in pipe.taken()] == [float(index) for index in range(200)]


def test_episodes_beyond_the_rate_are_merged_and_none_is_forgotten() -> None:
    outbox, pipe = Outbox(episodes_per_s=50), Pipe()
    outbox.process = 7
    messages: list[dict[str, Any]] = []
    for tick in range(100):  # ten seconds, 4000 episodes
        numbers = range(tick * 40, tick * 40 + 40)
        outbox.episodes([(float(number), 10, 0, number) for number in numbers])
        outbox.drain(100.0 + tick / 10, pipe)
        messages += pipe.taken()
    assert len(messages) <= 50 * 10 + 50  # what was saved up before counts as well
    outbox.drain(111.0, pipe, is_last=True)
    messages += pipe.taken()
    singles = [m["return"] for m in messages if m["kind"] == "episode"]
    merged = [m for m in messages if m["kind"] == "episodes"]
    assert len(singles) + sum(m["count"] for m in merged) == 4000
    assert sum(singles) + sum(m["count"] * m["mean_return"] for m in merged) == sum(range(4000))
    assert max(m["last_return"] for m in merged) == 3999.0
    assert all(m["mean_length"] == 10 for m in merged)
    ranges = [range(m["number"], m["number"] + m.get("count", 1)) for m in messages]
    assert [number for each in ranges for number in each] == list(range(4000)), "each has its own"
    assert {m["process"] for m in messages} == {7}


def test_messages_keep_their_order_through_a_full_pipe() -> None:
    outbox, pipe = Outbox(), Pipe(room=1)
    outbox.message({"kind": "note", "text": "one"})
    outbox.message({"kind": "note", "text": "two"})
    assert not outbox.drain(1.0, pipe)
    assert [m["text"] for m in pipe.taken()] == ["one"]
    assert outbox.drain(1.1, pipe)
    assert [m["text"] for m in pipe.taken()] == ["two"]


def test_a_line_is_never_longer_than_a_pipe_takes_at_once() -> None:
    line = line_of({"kind": "metric", "name": "𝔭" * 5000, "value": 1.0, "step": None})
    assert len(line) <= MAX_LINE_BYTES
    assert json.loads(line)["value"] == 1.0
