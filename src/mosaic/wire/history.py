"""What runs have stored, recordings included, as protobuf messages and back.

Episodes and steps travel as JSON text.
"""

from __future__ import annotations

import json
from array import array
from typing import Any

from mosaic.contracts.consent import consent_from_lines
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.replay import EpisodeRecording
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


def recording_to_proto(recording: EpisodeRecording) -> pb.EpisodeRecording:
    return pb.EpisodeRecording(
        episode=_episode_to_proto(recording.episode),
        attempt=recording.attempt,
        env_id=recording.env_id,
        maker=recording.maker,
        python=recording.python,
        settings_json=json.dumps(recording.settings),
        start_json=json.dumps(recording.start),
        start_state=recording.start_state,
        lead=recording.lead,
        action_dtype=recording.action_dtype,
        action_shape=recording.action_shape,
        actions=recording.actions,
        rewards=array("d", recording.rewards).tobytes(),
        actions_json=json.dumps(recording.actions_json) if recording.actions_json else "",
        problem=recording.problem,
        clips=recording.clips,
        path=recording.path,
        consent_lines=recording.consent.lines if recording.consent else (),
        values=array("f", recording.values).tobytes(),
    )


def recording_from_proto(run_id: str, message: pb.EpisodeRecording) -> EpisodeRecording:
    return EpisodeRecording(
        run_id=run_id,
        episode=episode_from_proto(run_id, message.episode),
        attempt=message.attempt,
        env_id=message.env_id,
        maker=message.maker,
        python=message.python,
        settings=json.loads(message.settings_json or "{}"),
        start=json.loads(message.start_json or "{}"),
        start_state=message.start_state,
        lead=message.lead,
        action_dtype=message.action_dtype,
        action_shape=tuple(message.action_shape),
        actions=message.actions,
        actions_json=tuple(json.loads(message.actions_json or "[]")),
        rewards=tuple(array("d", message.rewards)),
        problem=message.problem,
        clips=tuple(message.clips),
        path=tuple(message.path),
        consent=consent_from_lines(message.consent_lines),
        values=tuple(array("f", message.values)),
    )


def _episode_to_proto(episode: EpisodeSummary) -> pb.EpisodeRow:
    seed = episode.episode_seed
    return pb.EpisodeRow(
        seq=episode.seq,
        timestamp=episode.timestamp,
        agent_id=episode.agent_id,
        worker_id=episode.worker_id,
        episode_index=episode.episode_index,
        total_reward=episode.total_reward,
        steps=episode.steps,
        terminated=episode.terminated,
        truncated=episode.truncated,
        episode_seed="" if seed is None else str(seed),
        metadata_json="" if episode.metadata is None else json.dumps(episode.metadata),
    )
