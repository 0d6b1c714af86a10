"""An episode at any of its steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from mosaic.contracts.replay import EpisodeRecording, Moment
from mosaic.errors import WorkerError
from mosaic.replay.playback import Playback
from tests.replay_samples import CountingEnvironment, recording_of


def started(recording: EpisodeRecording) -> tuple[Playback, CountingEnvironment]:
    environment = CountingEnvironment(recording.settings)
    playback = Playback(recording, environment)
    playback.begin()
    return playback, environment


def seek(playback: Playback, step: int) -> list[int | None]:
    passed: list[int | None] = []
    playback.seek(step, lambda: passed.append(playback.position))
    return passed


def test_forward_is_stepping_and_back_is_beginning_again() -> None:
    playback, environment = started(recording_of(5))
    assert seek(playback, 3) == [1, 2, 3] and environment.begun == 1
    assert seek(playback, 3) == []
    assert seek(playback, 4) == [4] and environment.begun == 1
    assert seek(playback, 2) == [0, 1, 2] and environment.begun == 2
    assert environment.taken == [0, 1]


def test_steps_beyond_the_ends_are_the_ends() -> None:
    playback, _ = started(recording_of(5))
    seek(playback, 99)
    assert playback.position == 5 and playback.is_at_end
    seek(playback, -4)
    assert playback.position == 0 and not playback.is_at_end


def test_a_moment_has_its_action_and_both_rewards() -> None:
    playback, _ = started(recording_of([100.0, 101.0, 77.0]))
    assert (playback.action, playback.recorded_reward, playback.moment.observation) == (
        None,
        0.0,
        [100],
    )
    seek(playback, 3)
    assert (playback.action, playback.recorded_reward, playback.moment.reward) == (2, 77.0, 102.0)
    assert playback.moment.terminated is True
    verdict = playback.comparison.verdict()
    assert verdict.sentence == "differs at step 3: recorded 77.0, simulated 102.0"


def test_the_lead_is_taken_before_the_episode_and_not_compared() -> None:
    recording = recording_of([0.0, 0.0, 102.0, 103.0], lead=2, settings={"length": 2})
    playback, environment = started(recording)
    assert playback.steps == 2 and environment.taken == [0, 1]
    seek(playback, 2)
    assert environment.taken == [0, 1, 2, 3]
    assert playback.comparison.verdict().is_identical


def test_an_early_end_of_the_simulation_ends_the_playback() -> None:
    playback, environment = started(recording_of(5, settings={"length": 2}))
    assert seek(playback, 5) == [1, 2]
    assert playback.is_at_end and len(environment.taken) == 2
    assert "has 5 steps, simulated it terminated" in playback.comparison.verdict().sentence


def test_actions_of_an_array_keep_their_type() -> None:
    values = numpy.arange(6, dtype=numpy.float32).reshape(3, 2)
    recording = recording_of(
        3, action_dtype="<f4", action_shape=(2,), actions=values.tobytes(), actions_json=()
    )
    seen: list[Any] = []

    class Noting(CountingEnvironment):
        def step(self, action: Any) -> Moment:
            seen.append(action)
            return super().step(0)

    playback = Playback(recording, Noting({"length": 3}))
    playback.begin()
    seek(playback, 3)
    assert [item.dtype for item in seen] == [numpy.float32] * 3
    assert numpy.array_equal(seen, values)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"actions_json": (1, 2)}, "2 actions, but 5 rewards"),
        ({"lead": 6}, "6 of 5 actions"),
        ({"action_dtype": "<f4", "actions": b"123"}, "3 bytes are not 5 numbers"),
        ({"action_dtype": "no-type", "actions": b"12345"}, "no-type"),
    ],
)
def test_a_damaged_recording_is_refused(changes: dict[str, Any], words: str) -> None:
    recording = replace(recording_of(5), **changes)
    with pytest.raises(WorkerError, match=words):
        Playback(recording, CountingEnvironment({"length": 5}))


def test_after_a_failed_step_it_begins_again() -> None:
    playback, environment = started(recording_of(5))
    seek(playback, 2)
    environment.step = None  # type: ignore[assignment,method-assign]
    with pytest.raises(TypeError):
        seek(playback, 3)
    del environment.step
    assert seek(playback, 3) == [0, 1, 2, 3] and environment.begun == 2


def test_a_picture_is_handed_over_as_bytes() -> None:
    playback, _ = started(recording_of(5))
    assert playback.picture() == (3, 2, bytes(18))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "NoneType"),
        (numpy.zeros((4, 4), numpy.uint8), r"\(4, 4\)"),
        (numpy.zeros((4, 4, 3)), "float64"),
        (numpy.zeros((0, 4, 3), numpy.uint8), r"\(0, 4, 3\)"),
    ],
    ids=["none", "grey", "floats", "empty"],
)
def test_a_wrong_picture_is_refused(
    monkeypatch: pytest.MonkeyPatch, wrong: Any, words: str
) -> None:
    playback, environment = started(recording_of(5))
    monkeypatch.setattr(environment, "picture", lambda: wrong)
    with pytest.raises(WorkerError, match=words):
        playback.picture()
