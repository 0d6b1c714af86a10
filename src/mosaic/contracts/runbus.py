"""RunBus: what events and notices are called, for whoever records or traces them elsewhere.

A name is what a record is called, an attribute what one of its fields is called. They follow the
style of OpenTelemetry's semantic conventions; docs/reference/runbus.md says what each means.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mosaic.contracts.events import EventType


class ControlKind(StrEnum):
    """What the bus itself says about a run to one subscriber."""

    STARVED = "STARVED"
    RESUMED = "RESUMED"
    ENDED = "ENDED"


class RunBusName(StrEnum):
    STEP = "runbus.step"
    EPISODE = "runbus.episode"
    METRIC = "runbus.metric"
    LIFECYCLE = "runbus.lifecycle"
    CONTROL = "runbus.control"


class RunBusAttribute(StrEnum):
    RUN_ID = "runbus.run.id"
    AGENT_ID = "runbus.agent.id"
    WORKER_ID = "runbus.worker.id"
    TYPE = "runbus.event.type"
    SEQ = "runbus.event.seq"
    TIMESTAMP = "runbus.event.timestamp"
    EPISODE_INDEX = "runbus.episode.index"
    EPISODE_RETURN = "runbus.episode.return"
    EPISODE_STEPS = "runbus.episode.steps"
    EPISODE_SEED = "runbus.episode.seed"
    STEP_INDEX = "runbus.step.index"
    STEP_REWARD = "runbus.step.reward"
    TERMINATED = "runbus.step.terminated"
    TRUNCATED = "runbus.step.truncated"
    METRIC_NAME = "runbus.metric.name"
    METRIC_VALUE = "runbus.metric.value"
    METRIC_STEP = "runbus.metric.step"
    CONTROL_KIND = "runbus.control.kind"
    CONTROL_FROM_CURSOR = "runbus.control.from_cursor"
    CONTROL_NEXT_CURSOR = "runbus.control.next_cursor"
    COALESCED_STEPS = "runbus.control.coalesced.step"
    COALESCED_EPISODES = "runbus.control.coalesced.episode"
    COALESCED_METRICS = "runbus.control.coalesced.metric"


class FastLaneName(StrEnum):
    SLOT = "fastlane.slot"
    FRAME = "fastlane.frame"


class FastLaneAttribute(StrEnum):
    """`fastlane.slot.X` is the field X of `mosaic.fastlane.slot_writer.Metrics`."""

    SLOT_INDEX = "fastlane.slot.index"
    STEPS = "fastlane.slot.steps"
    EPISODES = "fastlane.slot.episodes"
    LAST_REWARD = "fastlane.slot.last_reward"
    ROLLING_RETURN = "fastlane.slot.rolling_return"
    STEP_RATE = "fastlane.slot.step_rate_hz"
    FLAGS = "fastlane.slot.flags"
    FRAME_NUMBER = "fastlane.frame.number"
    FRAME_WIDTH = "fastlane.frame.width"
    FRAME_HEIGHT = "fastlane.frame.height"


_SAMPLE_NAMES = {
    EventType.STEP: RunBusName.STEP,
    EventType.EPISODE: RunBusName.EPISODE,
    EventType.METRIC: RunBusName.METRIC,
}
# No two types of event use one field for different things.
_ATTRIBUTES = {
    "agent_id": RunBusAttribute.AGENT_ID,
    "worker_id": RunBusAttribute.WORKER_ID,
    "type": RunBusAttribute.TYPE,
    "seq": RunBusAttribute.SEQ,
    "timestamp": RunBusAttribute.TIMESTAMP,
    "episode_index": RunBusAttribute.EPISODE_INDEX,
    "total_reward": RunBusAttribute.EPISODE_RETURN,
    "steps": RunBusAttribute.EPISODE_STEPS,
    "episode_seed": RunBusAttribute.EPISODE_SEED,
    "step_index": RunBusAttribute.STEP_INDEX,
    "reward": RunBusAttribute.STEP_REWARD,
    "terminated": RunBusAttribute.TERMINATED,
    "truncated": RunBusAttribute.TRUNCATED,
    "name": RunBusAttribute.METRIC_NAME,
    "value": RunBusAttribute.METRIC_VALUE,
    "step": RunBusAttribute.METRIC_STEP,
}


def bus_name(kind: EventType) -> RunBusName:
    """What an event of this type is called on the bus."""
    return _SAMPLE_NAMES.get(kind, RunBusName.LIFECYCLE)


def bus_record(run_id: str, event: Mapping[str, Any]) -> tuple[RunBusName, dict[str, Any]]:
    """Name and attributes of an event, for a log or trace of other tools.

    Values are flat, as those tools want them: actions, observations and payloads are left out.
    """
    known = {
        _ATTRIBUTES[field].value: value
        for field, value in event.items()
        if field in _ATTRIBUTES and value is not None
    }
    return bus_name(EventType(event["type"])), {RunBusAttribute.RUN_ID.value: run_id, **known}
