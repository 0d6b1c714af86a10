"""A recording as a message, for the simulator's standard input, and back."""

from __future__ import annotations

import json
from array import array
from dataclasses import asdict
from typing import Any

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.replay.messages import BrokenMessageError, Message

RECORDING = "recording"
# What was asked before is nothing to the simulator.
_LEFT_OUT = ("episode", "consent")
_IN_PARTS = ("start_state", "actions", "actions_json", "rewards")


def recording_to_message(recording: EpisodeRecording) -> Message:
    values = {
        name: value
        for name, value in vars(recording).items()
        if name not in (*_IN_PARTS, *_LEFT_OUT)
    }
    values["episode"] = asdict(recording.episode)
    parts = (
        recording.start_state,
        recording.actions,
        json.dumps(recording.actions_json).encode(),
        array("d", recording.rewards).tobytes(),
    )
    return Message(RECORDING, values, parts)


def recording_from_message(message: Message) -> EpisodeRecording:
    try:
        start_state, actions, actions_json, rewards = message.parts
        values: dict[str, Any] = dict(message.values)
        values["episode"] = EpisodeSummary(**values["episode"])
        for name in ("action_shape", "clips", "path"):
            values[name] = tuple(values[name])
        return EpisodeRecording(
            **values,
            start_state=start_state,
            actions=actions,
            actions_json=tuple(json.loads(actions_json)),
            rewards=tuple(array("d", rewards)),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise BrokenMessageError(f"it is no recording: {error}") from error
