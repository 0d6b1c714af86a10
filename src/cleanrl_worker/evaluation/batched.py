"""Batches of evaluation episodes, each summed up in files and reported to the run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from cleanrl_worker.environments.live_view import LiveView, showing_pauses
from cleanrl_worker.environments.rendering import VideoWriter, rendered
from cleanrl_worker.environments.single import make_single
from cleanrl_worker.eval_registry import find_entry
from cleanrl_worker.evaluation.detection import PolicySource
from cleanrl_worker.evaluation.episodes import EpisodeRules, FinishedEpisode, play_episodes
from cleanrl_worker.evaluation.policy import ROWS, Policy, load_policy, training_arguments
from cleanrl_worker.evaluation.summary import BatchSummary, Conditions, SummaryFile, summarize
from cleanrl_worker.kit.recording import EpisodeLog
from cleanrl_worker.kit.reporting import Reporter
from cleanrl_worker.kit.writers.tensorboard import TensorBoardWriter
from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.settings import read_settings

if TYPE_CHECKING:
    import gymnasium

FILMED_EPISODES = 3  # of each batch
DEFAULT_FPS = 30.0


@dataclass(frozen=True)
class EvaluationPlan:
    """How much is played, and how. Episode number k, from 0, has the seed `seed + k`."""

    seed: int
    batch_size: int = 50
    episodes: int | None = None  # of all batches together; None: one batch
    repeat: bool = False  # batch upon batch until stopped
    deterministic: bool = True
    gamma: float | None = None  # None: the one of the training
    max_episode_steps: int | None = None
    capture_video: bool = False
    parallel_envs: int = ROWS

    def next_batch(self, first: int) -> range:
        """The numbers of the episodes to play next; empty when all are played."""
        end = first + self.batch_size
        if self.repeat:
            return range(first, end)
        return range(first, min(end, self.batch_size if self.episodes is None else self.episodes))


def run_batched_evaluation(
    source: PolicySource,
    plan: EvaluationPlan,
    directory: Path,
    reporter: Reporter,
    *,
    run_id: str = "run",
    on_batch: Callable[[BatchSummary], None] = lambda summary: None,
    device: torch.device | None = None,
    is_paused: Callable[[], bool] = lambda: False,
    recording: Path | None = None,
) -> list[BatchSummary]:
    """Plays what the plan says and returns the complete batches; `directory` is the run's.

    A batch that is stopped halfway counts for nothing: its short episodes have ended and its long
    ones have not, so its metrics would be wrong. The same evaluation, started again in the same
    directory, continues after its last complete batch. `recording` is the file in which episodes
    are recorded.
    """
    with ExitStack() as resources:
        envs = make_envs(source, plan)
        for env in envs:
            resources.callback(env.close)
        observation_space, action_space = envs[0].observation_space, envs[0].action_space
        policy = load_policy(
            source, observation_space, action_space, slots=len(envs), device=device
        )
        conditions = Conditions(
            str(source.path), source.algo, source.env_id, plan.seed, plan.deterministic
        )
        file = SummaryFile(directory)
        first = file.next_episode(conditions)
        board = TensorBoardWriter(directory / "tensorboard_eval", purge_from=first + 1)
        resources.callback(board.close)
        videos = directory / "videos" / f"{run_id}-eval" if plan.capture_video else None
        gamma = training_arguments(source).gamma if plan.gamma is None else plan.gamma
        rules = EpisodeRules(plan.seed, gamma, plan.deterministic, plan.max_episode_steps)
        view = open_view(envs, reporter)
        resources.callback(view.close)
        should_stop = showing_pauses(reporter.should_stop, is_paused, view.show_paused)
        log = None
        if recording is not None:
            log = open_log(source, envs, recording, reporter)
            resources.callback(log.close)
        evaluation = Evaluation(
            plan, conditions, rules, envs, policy, reporter, board, videos, view, should_stop, log
        )
        return evaluation.run(file, first, on_batch)


def make_envs(source: PolicySource, plan: EvaluationPlan) -> list[gymnasium.Env[Any, Any]]:
    """Whole games with raw rewards."""
    return [
        make_single(
            source.env_id,
            env_kwargs=source.env_kwargs,
            render_mode="rgb_array" if plan.capture_video else None,
            frame_stack=find_entry(source.algo).frame_stack,
            training=False,
        )
        for _ in range(max(1, min(plan.parallel_envs, plan.batch_size)))
    ]


def open_view(envs: Sequence[gymnasium.Env[Any, Any]], reporter: Reporter) -> LiveView:
    settings = read_settings(os.environ)
    if not settings.is_on:
        return LiveView()
    renders = [partial(rendered, env) for env in envs]
    return LiveView(settings, renders, reporter.note, flags=EVALUATING)


def open_log(
    source: PolicySource, envs: Sequence[gymnasium.Env[Any, Any]], path: Path, reporter: Reporter
) -> EpisodeLog:
    settings = {
        "env_id": source.env_id,
        "env_kwargs": dict(source.env_kwargs),
        "frame_stack": find_entry(source.algo).frame_stack,
        "training": False,
    }
    limit_bytes = training_arguments(source).recording_limit_mb * 1_000_000
    return EpisodeLog(path, limit_bytes, reporter.note, envs[0].action_space, settings)


class Evaluation:
    """The loop over batches, and what is reported of them."""

    def __init__(
        self,
        plan: EvaluationPlan,
        conditions: Conditions,
        rules: EpisodeRules,
        envs: Sequence[gymnasium.Env[Any, Any]],
        policy: Policy,
        reporter: Reporter,
        board: TensorBoardWriter,
        videos: Path | None,
        view: LiveView,
        should_stop: Callable[[], bool],
        log: EpisodeLog | None = None,
    ) -> None:
        self._log = log
        self._plan, self._conditions, self._rules = plan, conditions, rules
        self._envs, self._policy = envs, policy
        self._reporter, self._board, self._videos = reporter, board, videos
        self._view, self._should_stop = view, should_stop
        self._fps = float(envs[0].metadata.get("render_fps") or DEFAULT_FPS)
        self._steps = 0

    def run(
        self, file: SummaryFile, first: int, on_batch: Callable[[BatchSummary], None]
    ) -> list[BatchSummary]:
        summaries: list[BatchSummary] = []
        while numbers := self._plan.next_batch(first):
            summary = self._play_batch(file.next_batch_index, numbers)
            if summary is None:
                break
            file.append(summary)
            self._report_batch(summary)
            on_batch(summary)
            summaries.append(summary)
            first = numbers.stop
        return summaries

    def _play_batch(self, batch_index: int, numbers: range) -> BatchSummary | None:
        """None when it was stopped before its end."""
        filmed = numbers[:FILMED_EPISODES] if self._videos else ()
        started = time.perf_counter()
        episodes = []
        for episode in play_episodes(
            self._envs,
            self._policy,
            numbers,
            self._rules,
            self._should_stop,
            lambda number: self._video(batch_index, number) if number in filmed else None,
            self._view,
            self._log,
        ):
            episodes.append(episode)
            self._report_episode(episode)
        if len(episodes) < len(numbers):
            self._reporter.note(
                f"evaluation stopped in batch {batch_index} after {len(episodes)} of "
                f"{len(numbers)} episodes; an unfinished batch is not counted"
            )
            return None
        duration_sec = time.perf_counter() - started
        return summarize(self._conditions, batch_index, episodes, duration_sec)

    def _video(self, batch_index: int, number: int) -> VideoWriter:
        assert self._videos is not None
        return VideoWriter(self._videos / f"batch-{batch_index}-episode-{number}.mp4", self._fps)

    def _report_episode(self, episode: FinishedEpisode) -> None:
        self._steps += episode.length
        self._reporter.episode(
            episode_index=episode.number,
            total_reward=episode.total_reward,
            steps=episode.length,
            terminated=episode.terminated,
            truncated=episode.truncated,
        )
        self._reporter.progress(steps=self._steps)
        # Steps count from 1 on both axes, so that a new attempt can purge from the next episode.
        self._board.scalar("eval/episode_return", episode.total_reward, episode.number + 1)
        self._board.scalar("eval/episode_length", episode.length, episode.number + 1)

    def _report_batch(self, summary: BatchSummary) -> None:
        for name, value in summary.metrics().items():
            self._board.scalar(f"eval/{name}", value, summary.batch_index)
            self._reporter.metric(f"eval/{name}", value, summary.batch_index)
        self._board.flush()
