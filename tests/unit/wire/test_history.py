"""Recordings on the wire."""

from __future__ import annotations

import math
from dataclasses import replace

from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.history import recording_from_proto, recording_to_proto
from tests.replay_samples import recording_of


def test_a_recording_comes_back_as_it_was() -> None:
    recording = recording_of(
        [0.1, -math.inf],
        start={"seed": 3, "slot": 1},
        start_state=b"\x00\xff",
        lead=1,
        action_dtype="<f4",
        action_shape=(2, 3),
        actions=b"\x01\x02",
        actions_json=({"a": [1, None]}, "x"),
        problem="none",
        clips=("videos/a.mp4",),
        path=("/a", "/b"),
        values=(0.5, -math.inf),
    )
    big = replace(recording.episode, episode_seed=2**80, metadata={"k": [1]}, total_reward=0.1)
    recording = replace(recording, episode=big)
    message = pb.EpisodeRecording.FromString(recording_to_proto(recording).SerializeToString())
    assert recording_from_proto("RUN", message) == recording


def test_an_empty_message_is_an_empty_recording() -> None:
    recording = recording_from_proto("RUN", pb.EpisodeRecording())
    assert recording.settings == {} and recording.actions_json == () and recording.rewards == ()
    assert recording.episode.episode_seed is None and recording.episode.metadata is None
