"""Session: what an algorithm counts on, from the loop to the checkpoint."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.environments.batch import Episode
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from cleanrl_worker.kit.session import Session, TrainingDivergedError
from mosaic.contracts.recording_file import recording_name
from mosaic.errors import CheckpointError, WorkerError
from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.settings import Settings
from mosaic.fastlane.viewer import LIVE, PAUSED_NOW, View, Viewer
from mosaic.telemetry.recordings.episodes import read_episode, recorded_episodes
from tests.waiting import wait_until


class FakeReporter:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.metrics: list[tuple[str, float, int]] = []
        self.episodes: list[dict[str, Any]] = []
        self.steps: list[int] = []
        self.saved: list[dict[str, Any]] = []
        self.loaded: list[tuple[Path, int]] = []
        self.notes: list[str] = []
        self.stops = False
        self.flushed_before: list[set[str]] = []  # which checkpoints there were
        self.folder: Path | None = None

    def flush(self) -> None:
        found = self.folder.rglob("*") if self.folder else ()
        self.flushed_before.append({path.name for path in found})

    def metric(self, name: str, value: float, step: int) -> None:
        self.metrics.append((name, value, step))

    def episode(self, **values: Any) -> None:
        self.episodes.append(values)

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        self.steps.append(steps)

    def should_stop(self) -> bool:
        return self.stops

    def checkpoint_saved(
        self,
        path: Path,
        step: int,
        sha256: str = "",
        metric: float | None = None,
        is_best: bool = False,
        is_final: bool = False,
    ) -> None:
        values = {"path": path, "step": step, "metric": metric}
        self.saved.append({**values, "is_best": is_best, "is_final": is_final})

    def checkpoint_loaded(self, path: Path, step: int) -> None:
        self.loaded.append((path, step))

    def note(self, text: str) -> None:
        self.notes.append(text)


class FakeWriter:
    def __init__(self) -> None:
        self.scalars: list[tuple[str, float, int]] = []
        self.is_closed = False

    def scalar(self, name: str, value: float, step: int) -> None:
        self.scalars.append((name, value, step))

    def flush(self) -> None: ...

    def close(self) -> None:
        self.is_closed = True


class Counter:
    """The smallest part a training can have."""

    def __init__(self) -> None:
        self.count = 0

    def state_dict(self) -> Mapping[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        self.count = state["count"]


class TinyTraining:
    """Draws from every generator, so that a resumed one shows when one of them was forgotten."""

    def __init__(self, session: Session) -> None:
        self.session, self.network, self.counter = session, nn.Linear(2, 1), Counter()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=0.1)
        session.register(ModelFile(self.network), optimizer=self.optimizer, counter=self.counter)

    def step(self) -> None:
        session = self.session
        inputs = torch.randn(4, 2) * float(session.rng.random()) * random.random()
        self.optimizer.zero_grad()
        self.network(inputs).square().sum().backward()
        self.optimizer.step()
        self.counter.count += 1
        session.global_step += 10
        total = self.network.weight.sum().item()
        session.record_episodes([Episode(0, total, 10, terminated=True, truncated=False)])

    def train(self) -> None:
        while self.session.should_continue():
            self.step()
            self.session.checkpoint_if_due()

    @property
    def outcome(self) -> tuple[Any, ...]:
        session = self.session
        weights = self.network.weight.tolist()
        return weights, self.counter.count, session.episodes, list(session.recent_returns)


def make_session(
    directory: Path | None = None, *, path: Path | None = None, **options: Any
) -> tuple[Session, FakeReporter]:
    arguments = Arguments(**{"total_timesteps": 100, **options})
    reporter = FakeReporter()
    store = None if directory is None else CheckpointStore(directory, "tiny")
    checkpoint = None if path is None else load_checkpoint(path)
    torch.manual_seed(arguments.seed)
    random.seed(arguments.seed)
    device = torch.device("cpu")
    return Session(arguments, device, reporter, store=store, checkpoint=checkpoint), reporter


def test_a_resumed_training_ends_exactly_like_one_that_never_stopped(tmp_path: Path) -> None:
    session, _ = make_session(total_timesteps=200)
    reference = TinyTraining(session)
    reference.train()

    session, reporter = make_session(tmp_path / "first", total_timesteps=200)
    interrupted = TinyTraining(session)
    assert not session.is_resumed
    for _ in range(7):
        interrupted.step()
    session.save_checkpoint()
    interrupted.step()  # lost: the process is killed here

    torch.manual_seed(999)
    random.seed(999)
    path = reporter.saved[-1]["path"]
    session, reporter = make_session(tmp_path / "second", path=path, total_timesteps=200, seed=9)
    resumed = TinyTraining(session)
    assert session.is_resumed
    assert session.global_step == 70
    assert reporter.loaded == [(path, 70)]
    assert reporter.steps == [70]
    resumed.train()
    assert resumed.outcome == reference.outcome


def test_a_checkpoint_of_another_algorithm_is_refused(tmp_path: Path) -> None:
    session, reporter = make_session(tmp_path)
    TinyTraining(session)
    session.save_checkpoint()
    path = reporter.saved[-1]["path"]
    session, _ = make_session(path=path)
    with pytest.raises(CheckpointError, match="no state of 'normalizer'"):
        session.register(ModelFile(nn.Linear(2, 1)), normalizer=Counter())
    session, _ = make_session(path=path)
    with pytest.raises(WorkerError, match="does not fit this network"):
        session.register(ModelFile(nn.Linear(5, 1)))


def test_what_led_to_a_checkpoint_is_kept_before_anybody_can_resume_it(tmp_path: Path) -> None:
    session, reporter = make_session(tmp_path)
    reporter.folder = tmp_path
    TinyTraining(session)
    session.save_checkpoint()
    saved = reporter.saved[-1]["path"]
    assert saved.exists()
    assert len(reporter.flushed_before) == 1
    assert saved.name not in reporter.flushed_before[0]


def test_the_loop_ends_with_the_budget_or_on_request() -> None:
    session, reporter = make_session()
    session.global_step = 99
    assert session.should_continue()
    reporter.stops = True
    assert not session.should_continue()
    reporter.stops = False
    session.global_step = 100
    assert not session.should_continue()
    assert reporter.steps == [99, 99, 100]


def test_a_stopped_training_leaves_a_checkpoint_that_is_not_final(tmp_path: Path) -> None:
    session, reporter = make_session(tmp_path / "first")
    training = TinyTraining(session)
    training.step()
    reporter.stops = True
    assert not session.should_continue()
    assert [(entry["step"], entry["is_final"]) for entry in reporter.saved] == [(10, False)]
    # Resumed into another folder and stopped at once, it must be there too.
    session, reporter = make_session(tmp_path / "second", path=reporter.saved[0]["path"])
    TinyTraining(session)
    reporter.stops = True
    assert not session.should_continue()
    assert load_checkpoint(tmp_path / "second").step == 10


def test_scalars_go_to_the_reporter_and_every_writer() -> None:
    writers = FakeWriter(), FakeWriter()
    reporter = FakeReporter()
    session = Session(Arguments(), torch.device("cpu"), reporter, writers)
    session.global_step = 50
    session.record({"losses/value_loss": np.float32(0.5), "charts/learning_rate": 1})
    episode = Episode(2, 13.0, 7, terminated=False, truncated=True)
    session.record_episodes([episode, episode])
    expected = [
        ("losses/value_loss", 0.5, 50),
        ("charts/learning_rate", 1.0, 50),
        ("charts/episodic_return", 13.0, 50),
        ("charts/episodic_length", 7.0, 50),
        ("charts/episodic_return", 13.0, 50),
        ("charts/episodic_length", 7.0, 50),
    ]
    for told in (reporter.metrics, writers[0].scalars, writers[1].scalars):
        assert [entry for entry in told if entry[0] != "charts/SPS"] == expected
        assert [entry[2] for entry in told if entry[0] == "charts/SPS"] == [50]
    assert [entry["episode_index"] for entry in reporter.episodes] == [0, 1]
    assert reporter.episodes[0]["truncated"]


def test_weights_that_are_no_numbers_are_never_saved(tmp_path: Path) -> None:
    session, reporter = make_session(tmp_path)
    training = TinyTraining(session)
    session.save_checkpoint()
    session.global_step = 30
    with torch.no_grad():
        training.network.weight.fill_(math.nan)
    with pytest.raises(TrainingDivergedError, match="weight is not a number at step 30"):
        session.save_checkpoint(is_final=True)
    assert load_checkpoint(reporter.saved[-1]["path"]).step == 0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, torch.tensor(math.nan)])
def test_a_loss_that_is_no_number_ends_the_training(value: Any, tmp_path: Path) -> None:
    session, reporter = make_session(tmp_path)
    TinyTraining(session)
    session.save_checkpoint()
    session.global_step = 30
    with pytest.raises(TrainingDivergedError, match=r"losses/policy_loss is .* at step 30"):
        session.record({"losses/policy_loss": value})
    assert load_checkpoint(reporter.saved[-1]["path"]).step == 0


@pytest.mark.parametrize(
    ("total", "interval", "stride", "expected"),
    [
        (100, 0, 10, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
        (100, 25, 10, [30, 50, 80, 100]),
        (100, 25, 25, [25, 50, 75, 100]),
        (100, 10, 35, [35, 70, 105]),
        (5, 0, 1, [1, 2, 3, 4, 5]),
        (100, 1000, 10, [100]),
    ],
)
def test_checkpoints_come_when_an_interval_is_passed(
    total: int, interval: int, stride: int, expected: list[int], tmp_path: Path
) -> None:
    session, reporter = make_session(tmp_path, total_timesteps=total, checkpoint_interval=interval)
    session.register(ModelFile(nn.Linear(1, 1)))
    while session.should_continue():
        session.global_step += stride
        session.checkpoint_if_due()
    assert [entry["step"] for entry in reporter.saved] == expected
    assert [entry["is_final"] for entry in reporter.saved] == [False] * (len(expected) - 1) + [True]


def test_a_resumed_training_keeps_the_rhythm_of_its_checkpoints(tmp_path: Path) -> None:
    session, reporter = make_session(tmp_path, checkpoint_interval=30)
    session.register(ModelFile(nn.Linear(1, 1)))
    session.global_step = 44
    session.save_checkpoint()
    path = reporter.saved[-1]["path"]
    session, reporter = make_session(tmp_path, path=path, checkpoint_interval=30)
    session.register(ModelFile(nn.Linear(1, 1)))
    while session.should_continue():
        session.global_step += 1
        session.checkpoint_if_due()
    assert [entry["step"] for entry in reporter.saved] == [60, 90, 100]


def test_the_metric_is_the_mean_of_recent_returns(tmp_path: Path) -> None:
    session, reporter = make_session(tmp_path)
    session.register(ModelFile(nn.Linear(1, 1)))
    session.save_checkpoint()
    for step, total in ((10, 4.0), (20, 8.0), (30, -60.0)):
        session.global_step = step
        session.record_episodes([Episode(0, total, 10, terminated=True, truncated=False)])
        session.save_checkpoint()
    session.save_checkpoint()  # nothing new to save
    session.save_checkpoint(is_final=True)
    assert [entry["metric"] for entry in reporter.saved] == [None, 4.0, 6.0, -16.0, -16.0]
    assert [entry["is_best"] for entry in reporter.saved] == [False, True, True, False, False]
    assert [entry["is_final"] for entry in reporter.saved] == [False] * 4 + [True]
    assert load_checkpoint(tmp_path).is_final
    assert load_checkpoint(tmp_path / "tiny-best.cleanrl_model").step == 20


def test_a_full_disk_is_reported_and_the_next_checkpoint_tries_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, reporter = make_session(tmp_path, checkpoint_interval=20)
    training = TinyTraining(session)
    tried = []
    save = CheckpointStore.save

    def fails_twice(store: CheckpointStore, step: int, *args: Any, **kwargs: Any) -> Any:
        tried.append(step)
        if 20 < step < 80:
            raise CheckpointError("The disk is full", hint="make room")
        return save(store, step, *args, **kwargs)

    monkeypatch.setattr(CheckpointStore, "save", fails_twice)
    training.train()
    assert tried == [20, 40, 60, 80, 100]  # not once more in every iteration between
    assert [entry["step"] for entry in reporter.saved] == [20, 80, 100]
    assert reporter.notes == ["The disk is full; training goes on (make room)"] * 2


def test_a_final_checkpoint_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise CheckpointError("The disk is full", hint="make room")

    session, _ = make_session(tmp_path)
    TinyTraining(session)
    monkeypatch.setattr(CheckpointStore, "save", fails)
    with pytest.raises(CheckpointError):
        session.save_checkpoint(is_final=True)


def test_without_a_store_nothing_is_saved() -> None:
    session, reporter = make_session(checkpoint_interval=1)
    TinyTraining(session).train()
    session.save_checkpoint(is_final=True)
    assert reporter.saved == []


def test_videos_are_recorded_on_request_only(tmp_path: Path) -> None:
    for asked, expected in ((True, tmp_path), (False, None)):
        session = Session(
            Arguments(capture_video=asked),
            torch.device("cpu"),
            FakeReporter(),
            video_directory=tmp_path,
        )
        assert session.video_directory == expected


class PausedReporter(FakeReporter):
    """A run that is paused whenever it is asked; a viewer looks meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.viewer = Viewer(path)
        self.seen: list[View] = []

    def should_stop(self) -> bool:
        self.seen.append(self.viewer.poll())
        return False


@pytest.mark.parametrize("vectorization", ["native", "loop"])
def test_environments_can_be_watched_and_show_a_pause(
    tmp_path: Path, vectorization: Literal["native", "loop"]
) -> None:
    path = segment_path("01RUN", tmp_path)
    reporter, pauses = PausedReporter(path), [False, True, False]
    session = Session(
        Arguments(env_id="CartPole-v1", vectorization=vectorization),
        torch.device("cpu"),
        reporter,
        live_view=Settings(str(path)),
        is_paused=lambda: pauses.pop(0),
    )
    with session.environments() as envs:
        envs.reset(1)
        for _ in range(3):
            envs.step(np.zeros(1, np.int64))
        assert session.should_continue() and session.should_continue() and session.should_continue()
        wait_until(lambda: reporter.viewer.poll() and envs.view.is_due, what="the next frame")
        envs.step(np.zeros(1, np.int64))
        view = reporter.viewer.poll()
    reporter.viewer.close()
    assert [seen.status for seen in reporter.seen] == [LIVE, PAUSED_NOW, LIVE]
    (figures,) = reporter.seen[1].metrics
    assert figures is not None and figures.steps == 3
    assert view.picture is not None


def test_environments_without_a_segment_have_no_view(tmp_path: Path) -> None:
    session, _ = make_session()
    with session.environments() as envs:
        envs.reset(1)
        assert not envs.view.is_due
    assert list(tmp_path.iterdir()) == []


class TestRecording:
    def train(self, path: Path, **options: Any) -> FakeReporter:
        arguments = Arguments(**{"total_timesteps": 240, "num_envs": 2, **options})
        reporter = FakeReporter()
        session = Session(arguments, torch.device("cpu"), reporter, recording=path)
        random_numbers = np.random.default_rng(0)
        with session.environments() as envs:
            envs.reset(arguments.seed)
            session.register(ModelFile(nn.Linear(1, 1)), envs=envs)
            while session.should_continue():
                step = envs.step(random_numbers.integers(2, size=2))
                session.global_step += envs.num_envs
                session.record_episodes(step.episodes)
        return reporter

    def test_episodes_have_the_numbers_of_the_journal(self, tmp_path: Path) -> None:
        reporter = self.train(tmp_path / recording_name(1))
        assert reporter.episodes
        for told in reporter.episodes:
            found = read_episode(tmp_path, told["episode_index"])
            assert found is not None
            assert (found.end.total_reward, found.end.length) == (
                told["total_reward"],
                told["steps"],
            )
        assert recorded_episodes(tmp_path) == list(range(len(reporter.episodes)))

    def test_it_can_be_turned_off(self, tmp_path: Path) -> None:
        self.train(tmp_path / recording_name(1), record_episodes=False)
        assert not list(tmp_path.iterdir())


def test_a_pause_is_no_part_of_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 104.0, 704.0, 706.0])
    session, _ = make_session(total_timesteps=10_000)
    monkeypatch.setattr("cleanrl_worker.kit.session.time.perf_counter", lambda: next(clock))
    session.register(ModelFile(nn.Linear(2, 1)))  # at 100
    assert session.should_continue()  # asked at 104, answered after ten minutes
    session.global_step = 600
    assert session.steps_per_second == pytest.approx(100.0)


def test_an_episode_is_told_with_the_step_at_which_it_ended() -> None:
    session, reporter = make_session()
    session.global_step = 640
    session.record_episodes([Episode(0, 1.0, 10, terminated=True, truncated=False)])
    assert reporter.episodes[0]["metadata"] == {"step": 640}
