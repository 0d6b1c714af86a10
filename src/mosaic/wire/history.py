"""What runs have stored, as protobuf messages and back. Episodes and steps travel as JSON text."""

from __future__ import annotations

import json
from typing import Any

from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.history import MetricInfo, MetricSeries
from mosaic.wire.generated import trainer_pb2 as pb


def info_to_proto(info: MetricInfo) -> pb.MetricInfo:
    return pb.MetricInfo(
        name=info.name,
        points=info.points,
        first_step=info.first_step,
        last_step=info.last_step,
        last_value=info.last_value,
    )


def info_from_proto(message: pb.MetricInfo) -> MetricInfo:
    return MetricInfo(
        message.name, message.points, message.first_step, message.last_step, message.last_value
    )


def series_to_proto(series: MetricSeries) -> pb.Series:
    return pb.Series(**vars(series))


def series_from_proto(message: pb.Series) -> MetricSeries:
    return MetricSeries(
        run_id=message.run_id,
        name=message.name,
        first_steps=tuple(message.first_steps),
        last_steps=tuple(message.last_steps),
        means=tuple(message.means),
        lows=tuple(message.lows),
        highs=tuple(message.highs),
        counts=tuple(message.counts),
        timestamps=tuple(message.timestamps),
        points=message.points,
        next_cursor=message.next_cursor,
    )


def episode_from_proto(run_id: str, row: pb.EpisodeRow) -> EpisodeSummary:
    return EpisodeSummary(
        run_id=run_id,
        agent_id=row.agent_id,
        worker_id=row.worker_id,
        seq=row.seq,
        timestamp=row.timestamp,
        episode_index=row.episode_index,
        total_reward=row.total_reward,
        steps=row.steps,
        terminated=row.terminated,
        truncated=row.truncated,
        episode_seed=int(row.episode_seed) if row.episode_seed else None,
        metadata=_value(row.metadata_json),
    )


def step_from_proto(run_id: str, row: pb.StepRow) -> TrainingStep:
    return TrainingStep(
        run_id=run_id,
        agent_id=row.agent_id,
        worker_id=row.worker_id,
        seq=row.seq,
        timestamp=row.timestamp,
        episode_index=row.episode_index,
        step_index=row.step_index,
        action=_value(row.action_json),
        observation=_value(row.observation_json),
        reward=row.reward,
        terminated=row.terminated,
        truncated=row.truncated,
        episode_seed=int(row.episode_seed) if row.episode_seed else None,
        render_hint=_value(row.render_hint_json),
        info=_value(row.info_json),
    )


def _value(text: str) -> Any:
    """Any JSON value; as text where Python has none for it, such as a number of 10,000 digits."""
    if not text:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
