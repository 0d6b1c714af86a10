"""A whole evaluation on CartPole: figures, files, seeds, stopping, videos."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cleanrl_worker.evaluation.batched import EvaluationPlan, run_batched_evaluation
from cleanrl_worker.evaluation.detection import detect_policy
from cleanrl_worker.evaluation.summary import BatchSummary
from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.viewer import PAUSED_NOW, View, Viewer
from tests.unit.cleanrl_worker.evaluation.evaluation_samples import (
    RememberingReporter,
    cart_pole_policy,
)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return cart_pole_policy(tmp_path / "policy")


def evaluate(
    policy: Path,
    directory: Path,
    reporter: RememberingReporter | None = None,
    on_batch: Any = lambda summary: None,
    **plan: Any,
) -> list[BatchSummary]:
    directory.mkdir(exist_ok=True)
    return run_batched_evaluation(
        detect_policy(policy),
        EvaluationPlan(**{"seed": 100, "batch_size": 6, **plan}),
        directory,
        reporter or RememberingReporter(),
        run_id="RUN1",
        on_batch=on_batch,
    )


def returns(policy: Path, directory: Path, **plan: Any) -> list[float]:
    reporter = RememberingReporter()
    evaluate(policy, directory, reporter, **plan)
    return [
        episode["total_reward"]
        for episode in sorted(reporter.episodes, key=lambda item: item["episode_index"])
    ]


def read_board(directory: Path) -> EventAccumulator:
    return EventAccumulator(str(directory / "tensorboard_eval")).Reload()


@pytest.mark.parametrize("deterministic", [True, False])
def test_same_seed_gives_the_same_returns_whatever_is_played_at_once(
    policy: Path, tmp_path: Path, deterministic: bool
) -> None:
    plan = {"batch_size": 9, "deterministic": deterministic}
    first = returns(policy, tmp_path / "a", **plan)
    assert len(set(first)) > 1, "episodes differ from each other"
    assert returns(policy, tmp_path / "b", **plan) == first
    assert returns(policy, tmp_path / "c", **plan, parallel_envs=1) == first
    assert returns(policy, tmp_path / "d", **{**plan, "batch_size": 2, "episodes": 9}) == first
    assert returns(policy, tmp_path / "e", **plan, seed=1000) != first


def test_drawn_actions_give_other_returns(policy: Path, tmp_path: Path) -> None:
    best = returns(policy, tmp_path / "a", deterministic=True)
    assert returns(policy, tmp_path / "b", deterministic=False) != best


def test_every_batch_is_summed_up_and_told(policy: Path, tmp_path: Path) -> None:
    reporter = RememberingReporter()
    told: list[BatchSummary] = []
    summaries = evaluate(policy, tmp_path / "run", reporter, told.append, episodes=15)

    assert told == summaries
    assert [summary.episodes for summary in summaries] == [6, 6, 3]
    assert [(s.first_seed, s.last_seed) for s in summaries] == [(100, 105), (106, 111), (112, 114)]
    content = json.loads((tmp_path / "run" / "eval_summary.json").read_text())
    assert [entry["avg_return"] for entry in content["history"]] == [
        s.avg_return for s in summaries
    ]
    assert content["latest"]["batch_index"] == 3
    first = [e["total_reward"] for e in reporter.episodes if e["episode_index"] < 6]
    assert summaries[0].avg_return == pytest.approx(np.mean(first))
    assert summaries[0].avg_length == pytest.approx(summaries[0].avg_return)  # a point per step
    assert reporter.metrics["eval/avg_return", 1] == summaries[0].avg_return
    assert reporter.steps == sum(summary.total_steps for summary in summaries)


def test_tensorboard_shows_episodes_and_batches(policy: Path, tmp_path: Path) -> None:
    (summary,) = evaluate(policy, tmp_path / "run")
    board = read_board(tmp_path / "run")
    assert [event.step for event in board.Scalars("eval/avg_return")] == [1]
    assert board.Scalars("eval/max_return")[0].value == summary.max_return
    episodes = {event.step: event.value for event in board.Scalars("eval/episode_return")}
    assert sorted(episodes) == [1, 2, 3, 4, 5, 6]
    assert max(episodes.values()) == summary.max_return


def test_discounted_return_uses_the_gamma_asked_for_or_that_of_the_training(
    policy: Path, tmp_path: Path
) -> None:
    (undiscounted,) = evaluate(policy, tmp_path / "a", gamma=1.0)
    assert undiscounted.avg_discounted_return == undiscounted.avg_return
    (trained,) = evaluate(policy, tmp_path / "b", max_episode_steps=3)
    assert trained.avg_discounted_return == pytest.approx(1 + 0.99 + 0.99**2)
    assert trained.avg_length == 3


def stop_after(looks: int) -> RememberingReporter:
    left = iter(range(looks))
    return RememberingReporter(stop=lambda: next(left, None) is None)


def test_repeated_evaluation_ends_only_when_asked(policy: Path, tmp_path: Path) -> None:
    told: list[BatchSummary] = []
    reporter = RememberingReporter(stop=lambda: len(told) == 3)
    summaries = evaluate(policy, tmp_path / "run", reporter, told.append, repeat=True)
    assert [summary.batch_index for summary in summaries] == [1, 2, 3]


def test_stop_is_obeyed_within_a_step_and_half_a_batch_counts_for_nothing(
    policy: Path, tmp_path: Path
) -> None:
    reporter = stop_after(looks=12)
    assert evaluate(policy, tmp_path / "run", reporter, batch_size=50) == []
    assert reporter.steps <= 12 * 16
    assert "not counted" in reporter.notes[0]
    assert not (tmp_path / "run" / "eval_summary.json").exists()


def test_interrupted_evaluation_goes_on_after_its_last_batch(policy: Path, tmp_path: Path) -> None:
    whole = returns(policy, tmp_path / "whole", episodes=12)
    told: list[BatchSummary] = []
    interrupted = RememberingReporter(stop=lambda: bool(told))
    evaluate(policy, tmp_path / "run", interrupted, told.append, episodes=12)
    rest = returns(policy, tmp_path / "run", episodes=12)
    assert rest == whole[6:]
    content = json.loads((tmp_path / "run" / "eval_summary.json").read_text())
    assert [entry["batch_index"] for entry in content["history"]] == [1, 2]
    board = read_board(tmp_path / "run")
    assert sorted(event.step for event in board.Scalars("eval/episode_return")) == [*range(1, 13)]
    assert evaluate(policy, tmp_path / "run", episodes=12) == [], "nothing is left to play"


def test_first_episodes_of_a_batch_become_videos(policy: Path, tmp_path: Path) -> None:
    reporter = RememberingReporter()
    evaluate(policy, tmp_path / "run", reporter, batch_size=4, episodes=5, capture_video=True)
    folder = tmp_path / "run" / "videos" / "RUN1-eval"
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        "batch-1-episode-0.mp4",
        "batch-1-episode-1.mp4",
        "batch-1-episode-2.mp4",
        "batch-2-episode-4.mp4",
    ]
    lengths = {episode["episode_index"]: episode["steps"] for episode in reporter.episodes}
    with av.open(str(folder / names[0])) as container:
        frames = sum(1 for _ in container.decode(video=0))
    assert frames == lengths[0] + 1  # the first observation, and one after each step


def test_filming_changes_no_result(policy: Path, tmp_path: Path) -> None:
    plan = {"batch_size": 3, "max_episode_steps": 20}
    filmed = returns(policy, tmp_path / "a", **plan, capture_video=True)
    assert filmed == returns(policy, tmp_path / "b", **plan)


class WatchingReporter(RememberingReporter):
    """Somebody who watches, and looks before every step."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.viewer = Viewer(path, slot_count=4)
        self.seen: list[View] = []

    def should_stop(self) -> bool:
        view = self.viewer.poll()
        if view.picture is not None:
            self.seen.append(view)
        return bool(self.seen)


def test_evaluation_can_be_watched(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment_path("01RUN", tmp_path)
    monkeypatch.setenv("MOSAIC_FASTLANE_SEGMENT", str(path))
    unwatched = returns(policy, tmp_path / "unwatched")
    reporter = WatchingReporter(path)
    evaluate(policy, tmp_path / "watched", reporter, repeat=True)
    reporter.viewer.close()
    (view,) = reporter.seen
    assert view.picture is not None and len(set(view.picture.pixels)) > 1
    figures = [found for found in view.metrics if found is not None]
    assert len(figures) == 4, "as many as a grid shows"
    assert all(found.flags == EVALUATING and found.last_reward == 1.0 for found in figures[:1])
    told = {episode["episode_index"]: episode["total_reward"] for episode in reporter.episodes}
    assert all(told.get(number, value) == value for number, value in enumerate(unwatched))


def test_paused_evaluation_is_shown_as_paused(
    policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = segment_path("01RUN", tmp_path)
    monkeypatch.setenv("MOSAIC_FASTLANE_SEGMENT", str(path))
    viewer, statuses = Viewer(path), []

    class Paused(RememberingReporter):
        def should_stop(self) -> bool:
            statuses.append(viewer.poll().status)
            return True

    run_batched_evaluation(
        detect_policy(policy),
        EvaluationPlan(seed=1, batch_size=1),
        tmp_path,
        Paused(),
        is_paused=lambda: True,
    )
    viewer.close()
    assert statuses == [PAUSED_NOW]
