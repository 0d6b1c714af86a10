"""What the messages of a script become in its run."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mosaic.contracts.process_recording import Place
from mosaic.watch import recorder as module
from mosaic.watch.aggregation import Allowance
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
from mosaic.watch.recorder import (
    BEAT_INTERVAL_S,
    LOOKED_FOR_EPISODES,
    LOOKED_FOR_S,
    SILENT_S,
    Recorder,
)


class FakeRun:
    def __init__(self) -> None:
        self.steps = self.episodes = 0
        self.points: list[tuple[str, float, int]] = []
        self.summaries: list[tuple[str, float, int, dict[str, float]]] = []
        self.ended: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.beats = 0
        self.told: list[dict[str, Any]] = []  # with them

    def metric(self, name: str, value: float, step: int) -> None:
        self.points.append((name, value, step))

    def metric_summary(self, name: str, mean: float, step: int, **summary: float) -> None:
        self.summaries.append((name, mean, step, summary))

    def episode(self, **fields: Any) -> None:
        self.episodes += fields["metadata"].get("purpose") != "evaluation"
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
    recorder.take(Metric("charts/SPS", 5.0, 700))
    recorder.finish()
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
    assert event["metadata"] == {"env": 0, "step": 50, "count": 10, "last": None}


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


def test_an_environment_that_is_seen_later_tells_its_episodes_itself(
    recorder: Recorder, run: FakeRun, clock: Clock
) -> None:
    """The writer's process may be read before the one that has the environments."""
    recorder.take(Metric("charts/episodic_return", 20.0, 17))
    recorder.tick()
    recorder.take(Progress(17, pid=1))
    recorder.take(Episode(20.0, 17))
    clock.now += 10
    recorder.tick()
    recorder.finish()
    assert len(run.ended) == 1


def test_a_burst_is_kept_one_by_one(recorder: Recorder, run: FakeRun) -> None:
    for step in range(200_000):
        recorder.take(Metric("loss", 1.0, step))
    recorder.finish()
    assert len(run.points) == 200_000
    assert not run.summaries and not run.notes


def test_too_many_for_long_are_summed_up_exactly(
    recorder: Recorder, run: FakeRun, clock: Clock
) -> None:
    recorder._allowance = Allowance(clock.now, per_second=10, burst=3)
    for step, value in enumerate([5.0, 1.0, 4.0, 7.0, -2.0, 3.0, math.nan, math.nan]):
        recorder.take(Metric("loss", value, step))
    assert [value for _, value, _ in run.points] == [5.0, 1.0, 4.0]
    clock.now += 1.1
    recorder.tick()
    (finite, other) = run.summaries
    assert finite == (
        "loss",
        8.0 / 3,
        5,
        {"count": 3, "low": -2.0, "high": 7.0, "first": 7.0, "last": 3.0, "first_step": 3},
    )
    assert math.isnan(other[1])
    assert other[3]["count"] == 2
    assert run.notes == [module.TOO_MANY]
    recorder.take(Metric("loss", 6.0, 9))
    assert run.points[-1] == ("loss", 6.0, 9), "there is room again"


def test_too_many_episodes_are_summed_up_exactly_and_found_again(
    run: FakeRun, clock: Clock
) -> None:
    places: list[Place] = []
    recorder = Recorder(run, run.say, clock, found_at=places.append)
    recorder._allowance = Allowance(clock.now, per_second=1, burst=1)
    for number, total in enumerate([1.0, 2.0, 6.0]):
        recorder.take(Episode(total, 10 + number, process=9, number=number))
    recorder.take(Episode(7.0, 5, process=9, number=7))
    recorder.finish()
    assert run.episodes == 4
    assert run.steps == 10 + 11 + 12 + 5
    facts = [item["metadata"].get("count", 1) for item in run.ended]
    assert facts == [1, 2, 1]
    merged = run.ended[1]
    assert (merged["total_reward"], merged["steps"]) == (4.0, 12)
    assert merged["metadata"] == {
        **{"env": 0, "step": 33, "count": 2},
        **{"low": 2.0, "high": 6.0, "first": 2.0, "last": 6.0},
    }
    assert places == [Place(0, 9, 0, 1), Place(1, 9, 1, 2), Place(3, 9, 7, 1)]


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


def test_a_script_that_logs_nothing_at_all_is_told_after_a_while(
    recorder: Recorder, run: FakeRun, clock: Clock
) -> None:
    recorder.take(Vectors("1.4.0"))
    recorder.take(Progress(50_000))
    recorder.take(Episodes(500, 20.0, 20.0, 20.0))
    clock.now += SILENT_S - 1
    recorder.tick()
    assert run.notes == [], "it may only print"
    clock.now += 1
    recorder.tick()
    recorder.tick()
    (note,) = run.notes
    assert "the script has logged nothing at all: if it waits for them" in note
    assert "--compat" in note


def test_a_script_that_looks_for_what_is_not_there_is_told_soon_while_it_only_evaluates(
    recorder: Recorder, run: FakeRun, clock: Clock
) -> None:
    recorder.take(Vectors("1.4.0", is_looked_for=True))
    for _ in range(LOOKED_FOR_EPISODES):
        recorder.take(Episode(20.0, 20, is_evaluation=True))
    recorder.tick()
    assert run.notes == []
    clock.now += LOOKED_FOR_S
    recorder.tick()
    (note,) = run.notes
    assert note.startswith("200 steps and 10 finished episodes, and the script looks for them in")


def test_episodes_of_evaluation_are_kept_and_no_progress(run: FakeRun) -> None:
    places: list[Place] = []
    recorder = Recorder(run, run.say, found_at=places.append)
    for number, is_evaluation in enumerate([False, True, True, False]):
        recorder.take(Episode(1.0, 10, 3, False, is_evaluation, process=7, number=number))
    assert [each["episode_index"] for each in run.ended] == [0, 1, 2, 3], "each has its own number"
    assert [place.first_episode for place in places] == [0, 1, 2, 3]
    evaluation = {"env": 3, "step": 10, "purpose": "evaluation"}
    assert [each["metadata"] for each in run.ended] == [
        {"env": 3, "step": 10},
        evaluation,
        evaluation,
        {"env": 3, "step": 20},
    ]
    assert (run.episodes, run.steps) == (2, 20)
