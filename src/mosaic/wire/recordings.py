"""Recordings of episodes to protobuf messages and back."""

from __future__ import annotations

import json
from array import array

from mosaic.contracts.consent import consent_from_lines
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.history import episode_from_proto


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
