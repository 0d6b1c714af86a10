from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from mosaic.contracts.events import EventType
from mosaic.contracts.run_config import load_schema
from mosaic.contracts.schema_check import violations
from mosaic.telemetry.journal.decoder import (
    EVENT_TYPES,
    MAX_DEPTH,
    EpisodeEvent,
    EventDecoder,
    JournalEvent,
    LifecycleEvent,
    MetricEvent,
    QuarantineReason,
    RegisteredEvent,
    Rejected,
    StepEvent,
)
from tests import journal_lines as lines
from tests.strange_lines import damaged_events, strange_lines

DECODER = EventDecoder(lines.RUN_ID)


def reason_of(line: bytes) -> QuarantineReason:
    rejected = DECODER.decode(line)
    assert isinstance(rejected, Rejected), rejected
    return rejected.reason


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def test_every_event_type_is_decoded() -> None:
    samples = {
        EventType.WORKER_REGISTERED: lines.registered(),
        EventType.STEP: lines.step(1),
        EventType.EPISODE: lines.episode(1),
        EventType.METRIC: lines.metric(1),
    }
    for kind in EventType:
        event = DECODER.decode(samples.get(kind) or lines.lifecycle(kind.value, 1, a=1))
        assert isinstance(event, JournalEvent)
        assert EVENT_TYPES[type(event)] is kind


def test_a_step_keeps_action_and_observation_as_they_were_written() -> None:
    line = (
        b'{"type":"step","seq":7,"timestamp":1.5,"episode_index":2,"step_index":3,'
        b'"action":{"move": [1,2]},"observation":[1.0,"NaN",1e999],"reward":"-Infinity",'
        b'"terminated":true,"truncated":false}'
    )
    event = DECODER.decode(line)
    assert isinstance(event, StepEvent)
    assert bytes(event.action) == b'{"move": [1,2]}'
    assert bytes(event.observation) == b'[1.0,"NaN",1e999]'
    assert event.reward == "-Infinity"


def test_a_blank_line_is_neither_event_nor_garbage() -> None:
    assert DECODER.decode(b"") is None
    assert DECODER.decode(b" \t\r") is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\x00\x00\x00", QuarantineReason.NOT_JSON),
        (b"Traceback (most recent call last):", QuarantineReason.NOT_JSON),
        (lines.step(1)[:60], QuarantineReason.NOT_JSON),
        (lines.step(1).rstrip() + lines.step(2), QuarantineReason.NOT_JSON),
        (lines.step(1).replace(b"1.0", b"NaN"), QuarantineReason.NOT_JSON),
        (lines.step(1, action="X").replace(b"X", b"\\ud800"), QuarantineReason.NOT_JSON),
        (lines.step(1, action="X").replace(b"X", b"\xff"), QuarantineReason.NOT_UTF8),
        (lines.metric(1, name="X").replace(b"X", b"\xff"), QuarantineReason.NOT_UTF8),
        (lines.step(1, unknown="X").replace(b"X", b"\xff"), QuarantineReason.NOT_UTF8),
        (b"[]", QuarantineReason.NOT_AN_EVENT),
        (b"{}", QuarantineReason.NOT_AN_EVENT),
        (b"null", QuarantineReason.NOT_AN_EVENT),
        (lines.line("no_such_type", 1), QuarantineReason.NOT_AN_EVENT),
        (lines.line("step", 1), QuarantineReason.NOT_AN_EVENT),
        (lines.step(1, reward="lots"), QuarantineReason.NOT_AN_EVENT),
        (lines.step(1, terminated=1), QuarantineReason.NOT_AN_EVENT),
        (lines.step(1, episode_index=2**60), QuarantineReason.NOT_AN_EVENT),
        (lines.step(1, episode_index="9" * 5), QuarantineReason.NOT_AN_EVENT),
        (lines.step(-1), QuarantineReason.NOT_AN_EVENT),
        (lines.step(1, timestamp=True), QuarantineReason.NOT_AN_EVENT),
        (lines.metric(1, value=10**400), QuarantineReason.NOT_AN_EVENT),
        (lines.metric(1, name="x" * 257), QuarantineReason.NOT_AN_EVENT),
        (lines.line("heartbeat", 1, payload=[]), QuarantineReason.NOT_AN_EVENT),
        (lines.step(1, run_id=lines.OTHER_RUN_ID), QuarantineReason.WRONG_RUN),
    ],
)
def test_what_is_no_event_is_told_apart(line: bytes, reason: QuarantineReason) -> None:
    assert reason_of(line) is reason


def test_lines_of_any_run_are_taken_when_no_run_is_given() -> None:
    event = EventDecoder().decode(lines.step(1, run_id=lines.OTHER_RUN_ID))
    assert isinstance(event, StepEvent)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 10_000, 500_000])
@pytest.mark.parametrize("field", ["observation", "unknown"])
@pytest.mark.timeout(20)
def test_deep_nesting_is_refused(depth: int, field: str) -> None:
    line = lines.step(1, **{field: "X"}).replace(b'"X"', nested(depth).encode())
    assert reason_of(line) is QuarantineReason.TOO_DEEP
    assert reason_of(line.replace(b"]", b"")) is QuarantineReason.TOO_DEEP


def test_permitted_nesting_and_brackets_in_text_are_no_depth() -> None:
    deep = lines.step(1, observation="X").replace(b'"X"', nested(MAX_DEPTH - 1).encode())
    assert isinstance(DECODER.decode(deep), StepEvent)
    text = lines.step(1, info={"prompt": '[[{"\\' * 400}, observation=[[1, 2]] * 300)
    assert isinstance(DECODER.decode(text), StepEvent)


@pytest.mark.timeout(20)
def test_a_text_without_end_takes_no_quadratic_time() -> None:
    line = b'{"type":"step","x":"' + b'\\"[' * 300_000
    assert reason_of(line) is QuarantineReason.NOT_JSON


def test_whole_floats_count_as_integers() -> None:
    event = DECODER.decode(lines.metric(1).replace(b'"step":0', b'"step":3.0'))
    assert isinstance(event, MetricEvent)
    assert event.step == 3
    assert reason_of(lines.metric(1).replace(b'"step":0', b'"step":3.5'))
    assert reason_of(lines.metric(1).replace(b'"step":0', b'"step":1e300'))


def test_of_repeated_keys_the_last_counts() -> None:
    doubled = lines.metric(1, name="a").replace(b'"name":"a"', b'"name":"a","name":"b"')
    event = DECODER.decode(doubled)
    assert isinstance(event, MetricEvent)
    assert event.name == "b"


@pytest.mark.parametrize("digits", [20, 300, 4200])
def test_a_large_seed_is_kept(digits: int) -> None:
    seed = 10 ** (digits - 1)
    event = DECODER.decode(lines.episode(1, episode_seed=seed))
    assert isinstance(event, EpisodeEvent)
    assert event.episode_seed == seed


def test_optional_fields_may_be_left_out() -> None:
    event = DECODER.decode(lines.line("run_paused", 3))
    assert isinstance(event, LifecycleEvent)
    assert event.payload == {}
    bare = lines.registered(attempt=None, pid=None, agent_id=None, run_id=None)
    assert isinstance(DECODER.decode(bare), RegisteredEvent)


@settings(max_examples=300, deadline=None)
@given(strange_lines)
def test_no_line_whatsoever_makes_it_raise(line: bytes) -> None:
    event = DECODER.decode(line)
    assert event is None or isinstance(event, JournalEvent | Rejected)


@settings(max_examples=300, deadline=None)
@given(damaged_events)
def test_what_is_accepted_satisfies_the_published_schema(line: bytes) -> None:
    if isinstance(DECODER.decode(line), JournalEvent):
        document: Any = json.loads(line)
        # "Left out" may also be written as null.
        document = {name: value for name, value in document.items() if value is not None}
        assert list(violations(document, load_schema("event"))) == []
