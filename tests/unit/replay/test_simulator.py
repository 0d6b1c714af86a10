"""The simulator's conversation, without its process."""

from __future__ import annotations

import io
from typing import Any

import pytest

from mosaic.contracts.replay import EpisodeRecording, Moment
from mosaic.errors import WorkerError
from mosaic.replay.messages import (
    BrokenMessageError,
    Message,
    packed,
    recording_from_message,
    recording_to_message,
)
from mosaic.replay.simulator import make_environment, serve
from tests.replay_samples import CountingEnvironment, recording_of


def conversation(
    recording: EpisodeRecording, *requests: Message, make: Any = make_environment
) -> list[Message]:
    sent = [recording_to_message(recording), *requests]
    stream = io.BytesIO(b"".join(part for message in sent for part in packed(message)))
    answers: list[Message] = []
    serve(stream.read, answers.append, make)
    return answers


def seek(step: int, pictures_from: int | None = None) -> Message:
    return Message("seek", {"step": step, "pictures_from": pictures_from})


def test_a_recording_comes_through_the_pipe_as_it_is() -> None:
    recording = recording_of(
        3, start_state=b"\x00\xff", actions=b"abc", action_shape=(2, 1), clips=("a",), lead=1
    )
    assert recording_from_message(recording_to_message(recording)) == recording


@pytest.mark.parametrize("parts", [(), (b"", b"", b"[", b""), (b"", b"", b"[]", b"123")])
def test_what_is_no_recording_is_refused(parts: tuple[bytes, ...]) -> None:
    message = recording_to_message(recording_of(1))
    with pytest.raises(BrokenMessageError):
        recording_from_message(Message("recording", message.values, parts))
    with pytest.raises(BrokenMessageError):
        recording_from_message(Message("recording", {}, message.parts))


def test_it_is_ready_at_the_beginning_and_tells_a_moment() -> None:
    ready, moment = conversation(recording_of(5), seek(2))
    assert (ready.kind, ready.values) == ("ready", {"steps": 5})
    values = moment.values
    assert moment.kind == "moment" and values["is_last"] and values["picture"] is None
    assert (values["index"], values["action"], values["reward"]) == (2, 1, 101.0)
    assert values["recorded_reward"] == 101.0 and values["difference"] == ""


def test_pictures_are_drawn_only_where_somebody_looks() -> None:
    made: list[CountingEnvironment] = []

    def make(recording: EpisodeRecording) -> CountingEnvironment:
        made.append(CountingEnvironment(recording.settings))
        return made[0]

    answers = conversation(recording_of(9), seek(5, 3), seek(9), make=make)
    pictures = [answer.values["index"] for answer in answers[1:] if answer.values["picture"]]
    assert pictures == [3, 4, 5] and made[0].drawn == 3 and made[0].is_closed
    width, height, place = answers[1].values["picture"]
    assert (width, height, answers[1].parts[place]) == (3, 2, bytes([3]) * 18)


def test_observations_are_told_step_by_step_where_they_are_wanted() -> None:
    request = Message("seek", {"step": 4, "pictures_from": None, "profiles_from": 2})
    _, *moments = conversation(recording_of(9), request)
    told = {answer.values["index"]: answer.values["profile"] for answer in moments}
    assert told == {2: [2.0], 3: [3.0], 4: [4.0]}
    assert [answer.values["is_last"] for answer in moments] == [False, False, True]


def test_an_early_end_is_the_last_answer() -> None:
    answers = conversation(recording_of(9, settings={"length": 4}), seek(9, 2))
    assert [answer.values["index"] for answer in answers[1:]] == [2, 3, 4]
    assert [answer.values["is_last"] for answer in answers[1:]] == [False, False, True]
    assert "has 9 steps" in answers[-1].values["difference"]


def test_a_stream_has_the_beginning_every_step_and_the_verdict() -> None:
    stream = Message("stream", {"pictures": False, "observations": True})
    _, *moments, verdict = conversation(recording_of(3), seek(2), stream)[1:]
    assert [(item.values["index"], item.values["action"]) for item in moments] == [
        (0, None),
        (1, 0),
        (2, 1),
        (3, 2),
    ]
    assert moments[1].values["observation"] == {"list": [1]}
    assert verdict.kind == "verdict" and verdict.values["kind"] == "identical"


def test_to_the_end_without_pictures() -> None:
    verdict = conversation(recording_of([100.0, 0.0]), Message("finish", {}))[-1]
    assert verdict.values["sentence"] == "differs at step 2: recorded 0.0, simulated 101.0"


class Failing(CountingEnvironment):
    def step(self, action: Any) -> Moment:
        if action == 2:
            raise SystemExit("no more") if self.begun == 1 else ValueError("broken")
        return super().step(action)


def test_what_the_environment_raises_is_an_answer_and_not_the_end() -> None:
    answers = conversation(
        recording_of(5), seek(4), seek(4), seek(1), make=lambda r: Failing(r.settings)
    )
    kinds = [answer.kind for answer in answers]
    assert kinds == ["ready", "failed", "failed", "moment"]
    assert "SystemExit after step 2: no more" in answers[1].values["sentence"]
    assert "ValueError after step 2: broken" in answers[2].values["sentence"]


@pytest.mark.parametrize(
    ("maker", "words"),
    [
        ("nothing", "'nothing' is not of the form"),
        ("no_such_module:make", "No module named 'no_such_module'"),
        ("tests.replay_samples:nobody", "nobody"),
        ("tests.replay_samples:recording_of", "begin"),
    ],
)
def test_a_maker_that_does_not_make_is_named(maker: str, words: str) -> None:
    (failed,) = conversation(recording_of(5, maker=maker))
    assert failed.kind == "failed" and words in failed.values["sentence"]


def test_an_error_of_ours_keeps_its_hint() -> None:
    def make(recording: EpisodeRecording) -> CountingEnvironment:
        raise WorkerError("gymnasium is missing", hint="install it")

    (failed,) = conversation(recording_of(5), make=make)
    assert failed.values["sentence"] == "gymnasium is missing (install it)"


def test_an_unknown_or_empty_request_is_answered() -> None:
    answers = conversation(recording_of(5), Message("dance", {}), Message("seek", {}), seek(1))
    assert [answer.kind for answer in answers] == ["ready", "failed", "failed", "moment"]
