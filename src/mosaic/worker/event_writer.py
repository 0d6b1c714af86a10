"""Turns what happens in a run into lines of its journal. The hottest code of the SDK.

The training thread only copies the values; the journal's thread turns them into text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from time import time
from typing import Any

from mosaic.contracts.events import EventType
from mosaic.contracts.metrics import EVALUATION
from mosaic.worker.assignment import Assignment
from mosaic.worker.journal import DeferredEvent, Journal
from mosaic.worker.json_text import encode, encode_number, freeze, frozen_text

MAX_METRIC_NAME = 256
_MAX_CACHED_NAMES = 4096


class EventWriter:
    """Writes steps, episodes, metrics and lifecycle events, and counts them."""

    def __init__(self, journal: Journal, assignment: Assignment) -> None:
        self.steps = 0
        self.episodes = 0
        self._journal = journal
        self._append: Callable[[str], None] = journal.append
        self._defer: Callable[[DeferredEvent], None] = journal.defer
        self._metric_kind = journal.add_formatter(self._metric_body)
        self._step_kind = journal.add_formatter(self._step_body)
        # In its own journal every line inherits these from the first one; stdout may be shared.
        self._who = "" if journal.path else identity_fields(assignment)
        self._names: dict[str, str] = {}
        self._step_limit = math.inf if assignment.max_steps is None else assignment.max_steps

    def metric(self, name: str, value: float, step: int) -> None:
        """One scalar (a Python, numpy or torch number) at one global step."""
        quoted = self._names.get(name) or self._quoted(name)
        self._defer((self._metric_kind, time(), quoted, float(value), int(step)))

    def metrics(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self.metric(name, value, step)

    def metric_summary(self, name: str, mean: float, step: int, **summary: float) -> None:
        """One point for many: `count` of them since `first_step`, their `low` and `high`, and the
        `first` and `last` one."""
        fields = {"name": str(name)[:MAX_METRIC_NAME], "value": float(mean), "step": int(step)}
        self._write(EventType.METRIC, {**fields, **summary})

    def step(
        self,
        *,
        episode_index: int,
        step_index: int,
        action: Any,
        observation: Any,
        reward: float,
        terminated: bool,
        truncated: bool,
        episode_seed: int | None = None,
        render_hint: Any = None,
        info: Any = None,
    ) -> None:
        """One environment step: the action, and what the environment answered to it."""
        self.steps = steps = self.steps + 1
        action = action if action.__class__ is int else freeze(action)
        observation = freeze(observation)
        more = ""
        if info:
            more = f',"info":{encode(info)}'
        if render_hint is not None:
            more += f',"render_hint":{encode(render_hint)}'
        event = (
            self._step_kind,
            time(),
            # These class checks cost half as much as the conversions they save.
            episode_index if episode_index.__class__ is int else int(episode_index),
            step_index if step_index.__class__ is int else int(step_index),
            action,
            observation,
            reward if reward.__class__ is float else float(reward),
            "true" if terminated else "false",
            "true" if truncated else "false",
            "null" if episode_seed is None else int(episode_seed),
            more,
        )
        if more or observation.__class__ is str or action.__class__ is str:
            self._append(self._step_body(event))  # may be large, so it has to be measured
        else:
            self._defer(event)
        if steps >= self._step_limit:
            self._on_step_limit()

    def episode(
        self,
        *,
        episode_index: int,
        total_reward: float,
        steps: int,
        terminated: bool,
        truncated: bool,
        episode_seed: int | None = None,
        metadata: Any = None,
    ) -> None:
        """The end of an episode. One of evaluation has the purpose "evaluation" in its metadata: it
        is kept, and does not count as progress."""
        if not (isinstance(metadata, Mapping) and metadata.get("purpose") == EVALUATION):
            self.episodes += 1
        fields = {
            "episode_index": int(episode_index),
            "total_reward": float(total_reward),
            "steps": int(steps),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
        }
        if episode_seed is not None:
            fields["episode_seed"] = int(episode_seed)
        if metadata is not None:
            fields["metadata"] = metadata
        self._write(EventType.EPISODE, fields)

    def flush(self) -> None:
        """What was reported so far is kept, whatever kills this process now."""
        self._journal.flush()

    def lifecycle(self, kind: EventType, payload: Mapping[str, Any]) -> None:
        """Written through at once: whoever waits for the run's state waits for this line."""
        self._write(kind, {"payload": dict(payload)})
        self.flush()

    def _metric_body(self, event: DeferredEvent) -> str:
        _, timestamp, name, value, step = event
        return (
            f'"type":"metric","timestamp":{timestamp:.6f},{self._who}'
            f'"name":{name},"value":{encode_number(value)},"step":{step}'
        )

    def _step_body(self, event: DeferredEvent) -> str:
        _, timestamp, episode, index, action, observation, reward, ended, cut, seed, more = event
        return (
            f'"type":"step","timestamp":{timestamp:.6f},{self._who}"episode_index":{episode},'
            f'"step_index":{index},'
            f'"action":{action if action.__class__ is int else frozen_text(action)},'
            f'"observation":{frozen_text(observation)},"reward":{encode_number(reward)},'
            f'"terminated":{ended},"truncated":{cut},"episode_seed":{seed}{more}'
        )

    def _write(self, kind: EventType, fields: Mapping[str, Any]) -> None:
        body = encode(fields)[1:-1]
        self._append(f'"type":"{kind.value}","timestamp":{time():.6f},{self._who}{body}')

    def _quoted(self, name: str) -> str:
        if len(self._names) >= _MAX_CACHED_NAMES:
            self._names.clear()
        quoted = self._names[name] = encode(str(name)[:MAX_METRIC_NAME])
        return quoted

    def _on_step_limit(self) -> None:
        """For the run to override: the step budget is used up."""


def identity_fields(assignment: Assignment) -> str:
    return (
        f'"run_id":{encode(assignment.run_id)},"agent_id":{encode(assignment.agent_id)},'
        f'"worker_id":{encode(assignment.worker_id)},'
    )
