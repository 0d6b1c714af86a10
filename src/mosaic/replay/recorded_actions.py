"""The actions of a recording, in the form in which the environment got them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.replay.array_values import array_from


def recorded_actions(recording: EpisodeRecording) -> Sequence[Any]:
    """One per reward, the lead included. Raises WorkerError where the recording is damaged."""
    actions: Sequence[Any]
    if recording.action_dtype:
        shape = (len(recording.rewards), *recording.action_shape)
        try:
            actions = array_from(recording.action_dtype, shape, recording.actions)
        except (ValueError, TypeError, KeyError) as error:
            raise _damaged(
                f"{len(recording.actions):,} bytes are not {math.prod(shape):,} numbers of type "
                f"{recording.action_dtype} ({error})"
            ) from error
    else:
        actions = recording.actions_json
    if len(actions) != len(recording.rewards):
        raise _damaged(f"{len(actions):,} actions, but {len(recording.rewards):,} rewards")
    if not 0 <= recording.lead <= len(actions):
        raise _damaged(f"{recording.lead:,} of {len(actions):,} actions come before the episode")
    return actions


def _damaged(what: str) -> WorkerError:
    return WorkerError(f"the recording is damaged: {what}")
