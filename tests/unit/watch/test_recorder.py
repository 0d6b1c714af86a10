"""What the messages of a script become in its run."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mosaic.watch import recorder as module
from mosaic.watch.messages import (
    Environment,
    Episode,
    Episodes,
    Folder,
    Metric,
    Note,
    Progress,
    Vectors,
)
from mosaic.watch.recorder import BEAT_INTERVAL_S, Recorder


class FakeRun:
    def __init__(self) -> None:
        self.steps = self.episodes = 0
        self.points: list[tuple[str, float, int]] = []
        self.ended: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.beats = 0
        self.told: list[dict[str, Any]] = []  # with them

    def metric(self, name: str, value: float, step: int) -> None:
        self.points.append((name, value, step))

    def episode(self, **fields: Any) -> None:
        self.episodes += 1
        self.ended.append(fields)

    def progress(self, *, steps: int | None = None, episodes: int | None = None) -> None:
        self.steps = self.steps if steps is None else steps
        self.episodes = self.episodes if episodes is None else episodes

    def heartbeat(self, **details: Any) -> None:
        self.beats += 1
        self.told.append(details)

    def say(self, text: str) -> bool:
        self.notes.append(text)
        return len(self.notes) <= 2


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def run() -> FakeRun:
    return FakeRun()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(run: FakeRun, clock: Clock) -> Recorder:
    return Recorder(run, run.say, clock)


def test_a_missing_step_is_the_last_known_one(recorder: Recorder, run: FakeRun) -> None:
    recorder.take(Metric("loss", 3.0))
    recorder.take(Metric("loss", 2.0, 40))
    recorder.take(Metric("other", 1.0))
    assert run.points == [("loss", 3.0, 0), ("loss", 2.0, 40), ("other", 1.0, 40)]
    assert run.steps == 40


def test_counted_steps_win_over_the_steps_of_metrics(recorder: Recorder, run: FakeRun) -> None:
    """A W&B step counts calls of the logger, an SB3 dump may count updates."""
    recorder.take(Metric("loss", 3.0, 7))
    recorder.take(Progress(1000, pid=1))
    recorder.take(Metric("loss", 2.0))
    assert run.points[-1] == ("loss", 2.0, 1000)
    assert run.steps == 1000


def test_steps_of_several_processes_add_up_and_never_fall(recorder: Recorder, run: FakeRun) -> None:
    for message in (Progress(100, 1), Progress(50, 2), Progress(90, 1), Progress(60, 2)):
        recorder.take(message)
    assert run.steps == 160


def test_without_any_count_the_steps_of_episodes_are_the_progress(
    recorder: Recorder, run: FakeRun
) -> None:
    recorder.take(Episode(1.0, 30))
    recorder.take(Episode(2.0, 12, env=3, is_truncated=True))
    assert run.steps == 42
    assert [item["episode_index"] for item in run.ended] == [0, 1]
    assert run.ended[1]["metadata"] == {"env": 3, "step": 42}
    assert (run.ended[0]["terminated"], run.ended[1]["terminated"]) == (True, False)


def test_an_episode_ends_at_the_steps_that_were_counted(recorder: Recorder, run: FakeRun) -> None:
    recorder.take(Episode(1.0, 30))
    recorder.take(Progress(100, 1))  # of several environments at once
    recorder.take(Episode(2.0, 12))
    assert [item["metadata"]["step"] for item in run.ended] == [30, 100]


def test_a_logged_return_is_an_episode_at_the_step_of_its_metric(
    recorder: Recorder, run: FakeRun
) -> None:
    recorder.take(Metric("charts/episodic_return", 5.0, 640))
    recorder.tick()
    assert run.ended[0]["metadata"]["step"] == 640


def test_environments_are_named_as_they_appear(recorder: Recorder, run: FakeRun) -> None:
    for env_id in ("CartPole-v1", "CartPole-v1", "Acrobot-v1"):
        recorder.take(Environment(env_id))
    assert run.told == [{"env_id": "CartPole-v1"}, {"env_id": "CartPole-v1, Acrobot-v1"}]


def test_many_episodes_in_one_message_are_counted_all(recorder: Recorder, run: FakeRun) -> None:
    recorder.take(Episodes(10, mean_return=6.0, mean_length=5.5, last_return=math.nan))
    assert run.episodes == 10
    assert run.steps == 50
    (event,) = run.ended
    assert (event["total_reward"], event["steps"]) == (6.0, 5)
    assert event["metadata"] == {"env": 0, "step": 50, "count": 10, "last_return": None}


def test_an_impossible_length_does_no_harm(recorder: Recorder, run: FakeRun) -> None:
    recorder.take(Episodes(2, mean_return=1.0, mean_length=math.inf, last_return=1.0))
    assert run.ended[0]["steps"] == 0


def test_a_logged_return_is_an_episode_where_no_environment_tells_any(
    recorder: Recorder, run: FakeRun
) -> None:
    recorder.take(Metric("charts/episodic_return", 20.0, 100))
    assert run.ended == []  # its length may follow
    recorder.take(Metric("charts/episodic_length", 17.0, 100))
    recorder.take(Metric("charts/episodic_return", 21.0, 200))
    recorder.take(Metric("losses/value_loss", 0.1, 200))
    recorder.take(Metric("charts/episodic_return", 22.0, 300))
    recorder.finish()
    ended = [(item["total_reward"], item["steps"]) for item in run.ended]
    assert ended == [(20.0, 17), (21.0, 0), (22.0, 0)]
    assert [name for name, _, _ in run.points].count("charts/episodic_return") == 3


def test_an_episode_is_not_told_twice(recorder: Recorder, run: FakeRun) -> None:
    recorder.take(Episode(20.0, 17))
    recorder.take(Metric("charts/episodic_return", 20.0, 17))
    recorder.finish()
    assert len(run.ended) == 1


def test_headlines_remember_the_scripts_own_name(recorder: Recorder) -> None:
    names = ("rollout/ep_rew_mean", "train/entropy_loss", "train/loss", "train/value_loss", "odd")
    for name in names:
        recorder.take(Metric(name, 1.0, 1))
    assert recorder.headlines == {"episodic_return": "rollout/ep_rew_mean", "loss": "train/loss"}


def test_progress_that_no_metric_tells_is_told_now_and_then(
    recorder: Recorder, run: FakeRun, clock: Clock
) -> None:
    recorder.take(Progress(10))
    recorder.tick()
    assert run.beats == 0
    clock.now += BEAT_INTERVAL_S
    recorder.tick()
    recorder.tick()
    assert run.beats == 1
    clock.now += BEAT_INTERVAL_S
    recorder.tick()
    assert run.beats == 1  # nothing new


def test_hostile_numbers_of_things_are_bounded(
    recorder: Recorder, run: FakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MAX_METRIC_NAMES", "MAX_FOLDERS", "MAX_PROCESSES"):
        monkeypatch.setattr(module, name, 2)
    for number in range(5):
        recorder.take(Metric(f"m{number}", 1.0, 1))
        recorder.take(Note(f"n{number}"))
        recorder.take(Folder("tensorboard", f"/{number}"))
        recorder.take(Progress(10, pid=number))
    recorder.take(Metric("m0", 2.0, 2))
    assert [name for name, _, _ in run.points] == ["m0", "m1", "m0"]
    assert len(recorder.folders) == 2
    assert run.steps == 20
    assert recorder.dropped == 6


def losses(recorder: Recorder, name: str = "losses/td_loss") -> None:
    for step in range(20):
        recorder.take(Metric(name, 1.0, step))


def test_a_script_that_logs_losses_but_no_returns_is_told_once(
    recorder: Recorder, run: FakeRun
) -> None:
    recorder.take(Vectors("1.4.0"))
    losses(recorder)
    recorder.take(Progress(20_000))
    recorder.take(Episodes(99, 20.0, 20.0, 20.0))
    recorder.tick()
    assert run.notes == [], "too early to say"
    recorder.take(Episode(20.0, 20))
    recorder.tick()
    recorder.finish()
    (note,) = run.notes
    assert note.startswith("20,000 steps and 100 finished episodes, but the script has logged no")
    assert "1.4.0" in note


@pytest.mark.parametrize("name", ["charts/reward", "rollout/ep_rew_mean", "EpRet", "meanReturn"])
def test_a_script_that_logs_something_about_episodes_is_left_in_peace(
    recorder: Recorder, run: FakeRun, name: str
) -> None:
    recorder.take(Vectors("1.4.0"))
    losses(recorder)
    recorder.take(Metric(name, 1.0, 1))
    recorder.take(Progress(1_000_000))
    recorder.take(Episodes(5000, 20.0, 20.0, 20.0))
    recorder.finish()
    assert run.notes == []


def test_without_a_writer_or_such_vectors_nobody_misses_returns(
    recorder: Recorder, run: FakeRun
) -> None:
    recorder.take(Progress(1_000_000))
    recorder.take(Episodes(5000, 20.0, 20.0, 20.0))
    losses(recorder)
    recorder.tick()  # a script that does not use them, or says how they reset
    other = FakeRun()
    silent = Recorder(other, other.say)
    silent.take(Vectors("1.4.0"))
    silent.take(Progress(1_000_000))
    silent.take(Episodes(5000, 20.0, 20.0, 20.0))
    silent.finish()  # it logs nothing at all
    assert run.notes == other.notes == []
