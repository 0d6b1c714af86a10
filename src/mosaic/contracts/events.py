"""Events: the lines of a run's journal.

One JSON object a line. Every line has `type`, `seq` (counts up per journal) and `timestamp`
(seconds since 1970, UTC). `run_id`, `agent_id` and `worker_id` may be left out after the first
`worker_registered`; later lines inherit them. Non-finite numbers are written as the strings
"NaN", "Infinity" and "-Infinity", since JSON has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

EVENT_SCHEMA_VERSION = 1
PROTOCOL = "MOSAIC/1"
# A longer line is cut off and counted, never kept in memory.
MAX_LINE_BYTES = 1_048_576


class EventType(str, Enum):  # noqa: UP042
    WORKER_REGISTERED = "worker_registered"
    STEP = "step"
    EPISODE = "episode"
    METRIC = "metric"
    RUN_STARTED = "run_started"
    HEARTBEAT = "heartbeat"
    CHECKPOINT_SAVED = "checkpoint_saved"
    CHECKPOINT_LOADED = "checkpoint_loaded"
    RUN_PAUSED = "run_paused"
    RUN_RESUMED = "run_resumed"
    RUN_COMPLETED = "run_completed"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"

    # As a StrEnum has it, which is of Python 3.11: interpreters of scripts import this module.
    __str__ = str.__str__


SAMPLE_TYPES = frozenset({EventType.STEP, EventType.EPISODE, EventType.METRIC})
LIFECYCLE_TYPES = frozenset(EventType) - SAMPLE_TYPES


@dataclass(frozen=True)
class TrainingStep:
    """RunBus name: `runbus.step`. Action and observation may be any JSON value."""

    run_id: str
    agent_id: str
    worker_id: str
    seq: int
    timestamp: float
    episode_index: int
    step_index: int
    action: Any
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    episode_seed: int | None = None
    render_hint: Any = None
    info: Any = None


@dataclass(frozen=True)
class EpisodeSummary:
    """RunBus name: `runbus.episode`."""

    run_id: str
    agent_id: str
    worker_id: str
    seq: int
    timestamp: float
    episode_index: int
    total_reward: float
    steps: int
    terminated: bool
    truncated: bool
    episode_seed: int | None = None
    metadata: Any = None


@dataclass(frozen=True)
class MetricPoint:
    """RunBus name: `runbus.metric`. One scalar at one global step."""

    run_id: str
    seq: int
    timestamp: float
    name: str
    value: float
    step: int


@dataclass(frozen=True)
class RunLifecycleEvent:
    """RunBus name: `runbus.lifecycle`. `payload` holds what belongs to the type."""

    run_id: str
    seq: int
    timestamp: float
    type: EventType
    payload: dict[str, Any]


_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def number_to_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number_from_json(value: float | str) -> float:
    return _SPECIAL[value] if isinstance(value, str) else float(value)


def finite_json(value: Any) -> Any:
    """The same value with every non-finite number replaced by its string."""
    if isinstance(value, float):
        return number_to_json(value)
    if isinstance(value, dict):
        return {str(key): finite_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_json(item) for item in value]
    return value
