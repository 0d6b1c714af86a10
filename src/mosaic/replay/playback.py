"""Playback: a recorded episode in an environment, at any of its steps. Runs in the simulator.

At step 0 the episode has just begun; at step n its first n actions have been taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mosaic.contracts.replay import EpisodeRecording, EpisodeStart, Moment, ReplayEnvironment
from mosaic.errors import WorkerError
from mosaic.replay.messages import array_from
from mosaic.replay.verdict import ReplayComparison


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


class RawPicture(NamedTuple):
    width: int
    height: int
    pixels: bytes  # RGB, row by row


class Playback:
    def __init__(self, recording: EpisodeRecording, environment: ReplayEnvironment) -> None:
        actions = recorded_actions(recording)
        lead, episode = recording.lead, recording.episode
        self._environment = environment
        self._start = EpisodeStart(dict(recording.start), recording.start_state, actions[:lead])
        self._actions, self._rewards = actions[lead:], recording.rewards[lead:]
        self.steps = len(self._rewards)
        self.comparison = ReplayComparison(self.steps, episode.terminated, episode.truncated)
        self.position: int | None = None  # None: nowhere, it has to begin
        self.moment = Moment(None, 0.0, False, False)

    def begin(self) -> None:
        self.position = None
        observation = self._environment.begin(self._start)
        self.moment = Moment(observation, 0.0, False, False)
        self.position = 0

    @property
    def action(self) -> Any:
        """The one that led here; None at the beginning."""
        return self._actions[self.position - 1] if self.position else None

    @property
    def recorded_reward(self) -> float:
        return self._rewards[self.position - 1] if self.position else 0.0

    @property
    def is_at_end(self) -> bool:
        """Also where the simulated episode ends before the recorded one: nothing follows."""
        has_ended = self.moment.terminated or self.moment.truncated
        return self.position == self.steps or has_ended

    def seek(self, step: int, arrived: Callable[[], None]) -> None:
        """Forward by stepping, back by beginning again. `arrived` is called at every step passed.

        Stops at the end of the simulated episode, should that come first.
        """
        wanted = min(max(step, 0), self.steps)
        if self.position is None or wanted < self.position:
            self.begin()
            arrived()
        while self.position != wanted and not self.is_at_end:
            self._step()
            arrived()

    def _step(self) -> None:
        at = self.position
        assert at is not None
        self.position = None  # where it is, should the step fail, nobody knows
        given = self._environment.step(self._actions[at])
        reward = float(given.reward)
        self.moment = Moment(
            given.observation, reward, bool(given.terminated), bool(given.truncated)
        )
        self.position = at + 1
        self.comparison.add(at + 1, self._rewards[at], reward, *self.moment[2:])

    def picture(self) -> RawPicture:
        return drawn(self._environment)


def drawn(environment: ReplayEnvironment) -> RawPicture:
    pixels = drawn_array(environment)
    return RawPicture(int(pixels.shape[1]), int(pixels.shape[0]), pixels.tobytes())


def drawn_array(environment: ReplayEnvironment) -> Any:
    """What it looks like now. Raises WorkerError for anything but an RGB picture."""
    pixels = environment.picture()
    shape = getattr(pixels, "shape", None)
    if shape is None or len(shape) != 3 or shape[2] != 3 or 0 in shape:
        found = type(pixels).__name__ if shape is None else f"of the shape {tuple(shape)}"
        raise WorkerError(f"its picture is no array (height, width, 3) but {found}")
    if str(pixels.dtype) != "uint8":
        raise WorkerError(f"its picture consists of {pixels.dtype}, not uint8")
    return pixels
