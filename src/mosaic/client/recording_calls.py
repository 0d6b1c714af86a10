"""The call that asks for a recorded episode."""

from __future__ import annotations

from mosaic.client.calls import Call
from mosaic.client.requests import new_request
from mosaic.contracts.replay import EpisodeRecording
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.recordings import recording_from_proto


def get_recording(
    run_id: str, episode_index: int, attempt: int | None, consent: str = ""
) -> Call[EpisodeRecording]:
    request = new_request(
        pb.GetRecordingRequest,
        run_id=run_id,
        episode_index=episode_index,
        attempt=attempt,
        consent=consent,
    )
    return Call("GetRecording", request, lambda answer: recording_from_proto(run_id, answer))
