"""The tables of an export: which columns they have, and how contracts become rows of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.history import MetricSeries

# One list per column, all of the same length.
Columns = Sequence[Sequence[Any]]


class Kind(Enum):
    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    FLAG = "flag"


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind


class Table(Protocol):
    """An open file that takes rows. `close` completes it; `abandon` only lets go of it."""

    def add(self, columns: Columns) -> None: ...

    def close(self) -> None: ...

    def abandon(self) -> None: ...


class TableFormat(Protocol):
    @property
    def suffix(self) -> str: ...

    def create(self, path: Path, columns: Sequence[Column]) -> Table: ...


METRICS = (
    Column("name", Kind.TEXT),
    Column("step", Kind.INTEGER),
    Column("value", Kind.REAL),
    Column("timestamp", Kind.REAL),
    # A value may be the mean of so many, between these.
    Column("count", Kind.INTEGER),
    Column("low", Kind.REAL),
    Column("high", Kind.REAL),
)
EPISODES = (
    Column("episode_index", Kind.INTEGER),
    Column("total_reward", Kind.REAL),
    Column("steps", Kind.INTEGER),
    Column("terminated", Kind.FLAG),
    Column("truncated", Kind.FLAG),
    Column("episode_seed", Kind.TEXT),  # may exceed 64 bits
    Column("timestamp", Kind.REAL),
    Column("agent_id", Kind.TEXT),
    Column("worker_id", Kind.TEXT),
    Column("metadata", Kind.TEXT),
)
STEPS = (
    Column("episode_index", Kind.INTEGER),
    Column("step_index", Kind.INTEGER),
    Column("action", Kind.TEXT),
    Column("observation", Kind.TEXT),
    Column("reward", Kind.REAL),
    Column("terminated", Kind.FLAG),
    Column("truncated", Kind.FLAG),
    Column("episode_seed", Kind.TEXT),
    Column("timestamp", Kind.REAL),
    Column("agent_id", Kind.TEXT),
    Column("worker_id", Kind.TEXT),
    Column("render_hint", Kind.TEXT),
    Column("info", Kind.TEXT),
)


def metric_columns(page: MetricSeries) -> Columns:
    return [
        *([page.name] * len(page.means), page.last_steps, page.means, page.timestamps),
        *(page.counts, page.lows, page.highs),
    ]


def episode_columns(episodes: Iterable[EpisodeSummary]) -> Columns:
    rows = [
        (
            episode.episode_index,
            episode.total_reward,
            episode.steps,
            episode.terminated,
            episode.truncated,
            _seed(episode.episode_seed),
            episode.timestamp,
            episode.agent_id,
            episode.worker_id,
            json_text(episode.metadata),
        )
        for episode in episodes
    ]
    return list(zip(*rows, strict=True))


def step_columns(steps: Iterable[TrainingStep]) -> Columns:
    rows = [
        (
            step.episode_index,
            step.step_index,
            json_text(step.action),
            json_text(step.observation),
            step.reward,
            step.terminated,
            step.truncated,
            _seed(step.episode_seed),
            step.timestamp,
            step.agent_id,
            step.worker_id,
            json_text(step.render_hint),
            json_text(step.info),
        )
        for step in steps
    ]
    return list(zip(*rows, strict=True))


def json_text(value: Any) -> str:
    """Any JSON value as it stood in the journal; empty where there was none."""
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _seed(seed: int | None) -> str:
    return "" if seed is None else str(seed)
