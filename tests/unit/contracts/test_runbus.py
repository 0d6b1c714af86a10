"""Names on the bus: one list in the code, the same in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mosaic.contracts import events
from mosaic.contracts.events import SAMPLE_TYPES, EventType
from mosaic.contracts.runbus import (
    ControlKind,
    FastLaneAttribute,
    FastLaneName,
    RunBusAttribute,
    RunBusName,
    bus_name,
    bus_record,
)
from mosaic.fastlane.slot_writer import Metrics
from mosaic.wire.answers import BusBatch, BusNotice

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "runbus.md"
NAMES = {*RunBusName, *RunBusAttribute, *FastLaneName, *FastLaneAttribute}


def test_reference_has_exactly_these_names() -> None:
    text = PAGE.read_text()
    found = set(re.findall(r"`((?:runbus|fastlane)\.[a-z_.]+)`", text))
    assert found == NAMES
    for kind in (*ControlKind, *EventType):
        assert f"`{kind}`" in text


def test_names_follow_one_style() -> None:
    for name in NAMES:
        assert re.fullmatch(r"(runbus|fastlane)(\.[a-z]+(_[a-z]+)*)+", name)


def test_contracts_are_called_as_they_say() -> None:
    classes = {
        EventType.STEP: events.TrainingStep,
        EventType.EPISODE: events.EpisodeSummary,
        EventType.METRIC: events.MetricPoint,
        EventType.HEARTBEAT: events.RunLifecycleEvent,
    }
    for kind, contract in classes.items():
        assert f"`{bus_name(kind)}`" in (contract.__doc__ or "")
    assert {kind for kind in EventType if bus_name(kind) != RunBusName.LIFECYCLE} == SAMPLE_TYPES


def test_slot_attributes_are_the_fields_of_a_slot() -> None:
    slot = {name for name in FastLaneAttribute if name.startswith("fastlane.slot.")}
    assert slot == {f"fastlane.slot.{field}" for field in ("index", *Metrics._fields)}


def test_every_attribute_of_the_bus_has_its_source() -> None:
    whole = {
        **{"type": "step", "seq": 1, "timestamp": 2.0, "agent_id": "a", "worker_id": "w"},
        **{"episode_index": 3, "total_reward": 4.0, "steps": 5, "episode_seed": 6},
        **{"step_index": 7, "reward": 8.0, "terminated": False, "truncated": True},
        **{"name": "loss", "value": 9.0, "step": 10},
        **{"action": [1], "observation": {}, "payload": {}, "info": {}},
    }
    name, attributes = bus_record("R", whole)
    assert name == "runbus.step"
    notice = BusNotice(ControlKind.RESUMED, "R", 1, 9, {"step": 5})
    control, more = notice.record()
    assert control == "runbus.control"
    assert {*attributes, *more} == set(RunBusAttribute)
    assert more["runbus.control.coalesced.step"] == 5
    assert more["runbus.control.coalesced.metric"] == 0


def test_batch_gives_its_events_names() -> None:
    line = b'{"type":"heartbeat","seq":1,"timestamp":2.5,"agent_id":null,"payload":{"steps":3}}'
    expected = {
        "runbus.run.id": "R",
        "runbus.event.type": "heartbeat",
        "runbus.event.seq": 1,
        "runbus.event.timestamp": 2.5,
    }
    assert BusBatch("R", (line,), 9).records() == [(RunBusName.LIFECYCLE, expected)]


def test_unknown_types_are_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        bus_record("R", {"type": "nonsense"})
