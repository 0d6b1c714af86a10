"""The helper's side of a stretch: what it draws of an episode, and of those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import Any

from mosaic.contracts.replay import EpisodeRecording, EpisodeStart, Moment
from mosaic.replay.messages import Message, packed, recording_to_message
from mosaic.replay.simulator import FAILED
from mosaic.replay.stretch_simulator import BEGUN, OVER, PICTURE, PLAY, serve
from tests.replay_samples import CountingEnvironment, recording_of


class RunningOn(CountingEnvironment):
    """Episodes of five steps, one after the other, from the beginning of its lead on."""

    runs_on, render_fps = True, 10

    def step(self, action: Any) -> Moment:
        moment = super().step(action)
        return moment._replace(terminated=len(self.taken) % 5 == 0)


def played(
    *recordings: EpisodeRecording,
    make: Callable[[EpisodeRecording], Any],
    least_s: float = 0.0,
    most_s: float = 60.0,
) -> list[Message]:
    request = Message(PLAY, {"least_s": least_s, "most_s": most_s})
    messages = [message for each in recordings for message in (recording_to_message(each), request)]
    stream = BytesIO(b"".join(part for message in messages for part in packed(message)))
    answers: list[Message] = []
    assert serve(stream.read, answers.append, make) == 0
    return answers


def pictures(answers: list[Message]) -> list[tuple[int, int, bool]]:
    """Step of its episode, what the environment has done in all, whether it is the newest."""
    return [
        (answer.values["step"], answer.parts[0][0], answer.values["is_newest"])
        for answer in answers
        if answer.kind == PICTURE
    ]


def with_lead(lead: int, steps: int) -> EpisodeRecording:
    recording = recording_of(lead + steps, lead=lead)
    return replace(recording, settings={"length": 1000})


def test_every_step_of_an_episode_is_drawn() -> None:
    answers = played(recording_of(4), make=lambda r: CountingEnvironment(r.settings))
    assert [answer.kind for answer in answers] == [BEGUN, *[PICTURE] * 5, OVER]
    assert pictures(answers) == [(step, step, True) for step in range(5)]
    assert [answer.values["left"] for answer in answers[1:-1]] == [4, 3, 2, 1, 0]
    assert answers[-1].values == {"is_exact": True}


def test_a_short_episode_comes_with_whole_ones_before_it() -> None:
    made: list[RunningOn] = []

    def make(recording: EpisodeRecording) -> RunningOn:
        made.append(RunningOn(recording.settings))
        return made[-1]

    # Ten a second, at least 1.2 seconds: seven steps of the lead, of which two end an episode.
    answers = played(with_lead(15, 5), make=make, least_s=1.2)
    assert pictures(answers) == [
        *[(step, 10 + step, False) for step in range(1, 6)],
        *[(step, 15 + step, True) for step in range(1, 6)],
    ]


def test_the_next_recording_is_played_in_the_same_environment() -> None:
    made: list[CountingEnvironment] = []

    def make(recording: EpisodeRecording) -> CountingEnvironment:
        made.append(CountingEnvironment(recording.settings))
        return made[-1]

    answers = played(recording_of(3), recording_of(3), recording_of(2), make=make)
    assert [answer.kind for answer in answers].count(OVER) == 3
    assert [each.begun for each in made] == [2, 1]
    assert all(each.is_closed for each in made)


def test_rewards_that_are_not_those_recorded_are_told() -> None:
    answers = played(recording_of([100.0, 5.0]), make=lambda r: CountingEnvironment(r.settings))
    assert answers[-1].values == {"is_exact": False}


def test_pictures_of_fine_steps_are_fewer() -> None:
    class Fine(CountingEnvironment):
        render_fps = 120

    answers = played(recording_of(10), make=lambda r: Fine(r.settings))
    assert [step for step, _, _ in pictures(answers)] == [0, 4, 8, 10]


def test_a_very_long_episode_is_cut_off() -> None:
    make: Callable[[EpisodeRecording], Any] = lambda r: CountingEnvironment(r.settings)  # noqa: E731
    answers = played(recording_of(90), make=make, most_s=1.0)
    assert pictures(answers)[-1][0] == 30


def test_what_an_environment_raises_is_an_answer_and_the_next_one_is_new() -> None:
    class Breaking(CountingEnvironment):
        def begin(self, start: EpisodeStart) -> Any:
            raise ValueError("the wheel came off")

    makers = iter([Breaking, CountingEnvironment])
    answers = played(recording_of(2), recording_of(2), make=lambda r: next(makers)(r.settings))
    assert answers[0].kind == FAILED
    assert "the wheel came off" in answers[0].values["sentence"]
    assert answers[-1].kind == OVER
