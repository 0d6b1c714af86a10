"""Rows of a run that exists only in memory, in pages as small as a test likes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.export.run_rows import EpisodeChoice

RUN_ID = "01JQ0000000000000000000000"
START = 1_767_225_600.0

Point = tuple[int, float]


def record(**changes: Any) -> RunRecord:
    known: dict[str, Any] = {
        "run_id": RUN_ID,
        "run_name": "first",
        "worker": "test",
        "state": RunState.TERM,
        "outcome": Outcome.SUCCEEDED,
        "attempt": 1,
        "priority": 0,
        "created_at": START,
        "updated_at": START,
        "env_id": "CartPole-v1",
    }
    return RunRecord(**{**known, **changes})


def episode(index: int, total_reward: float = 10.0, **changes: Any) -> EpisodeSummary:
    known: dict[str, Any] = {
        "run_id": RUN_ID,
        "agent_id": "agent",
        "worker_id": "worker",
        "seq": index,
        "timestamp": START + index,
        "episode_index": index,
        "total_reward": total_reward,
        "steps": 5 + index,
        "terminated": True,
        "truncated": False,
    }
    return EpisodeSummary(**{**known, **changes})


def step(episode_index: int, step_index: int, **changes: Any) -> TrainingStep:
    known: dict[str, Any] = {
        "run_id": RUN_ID,
        "agent_id": "agent",
        "worker_id": "worker",
        "seq": 0,
        "timestamp": START,
        "episode_index": episode_index,
        "step_index": step_index,
        "action": 1,
        "observation": [0.1, None, "NaN"],
        "reward": 1.0,
        "terminated": False,
        "truncated": False,
    }
    return TrainingStep(**{**known, **changes})


def series(name: str, points: Sequence[Point]) -> MetricSeries:
    steps = tuple(at for at, _ in points)
    values = tuple(value for _, value in points)
    return MetricSeries(
        run_id=RUN_ID,
        name=name,
        first_steps=steps,
        last_steps=steps,
        means=values,
        lows=values,
        highs=values,
        counts=(1,) * len(points),
        timestamps=tuple(START + at for at in steps),
        points=len(points),
    )


class SampleRows:
    def __init__(
        self,
        metrics: Mapping[str, Sequence[Point]] | None = None,
        episodes: Sequence[EpisodeSummary] = (),
        steps: Sequence[TrainingStep] = (),
        page: int = 3,
        **changes: Any,
    ) -> None:
        self.record = record(**changes)
        self._metrics = metrics or {}
        self._episodes = list(episodes)
        self._steps = list(steps)
        self._page = page

    def metrics(self) -> list[MetricInfo]:
        return [MetricInfo(name, len(points), 0, 0, 0.0) for name, points in self._metrics.items()]

    def points(self, name: str) -> Iterator[MetricSeries]:
        points = self._metrics[name]
        for start in range(0, len(points), self._page):
            yield series(name, points[start : start + self._page])

    def episodes(self, choice: EpisodeChoice) -> Iterator[list[EpisodeSummary]]:
        chosen = [item for item in self._episodes if choice.holds(item.episode_index)]
        for start in range(0, len(chosen), self._page):
            yield chosen[start : start + self._page]

    def steps(self, choice: EpisodeChoice) -> Iterator[list[TrainingStep]]:
        chosen = [item for item in self._steps if choice.holds(item.episode_index)]
        for start in range(0, len(chosen), self._page):
            yield chosen[start : start + self._page]
