"""When a training solved its environment, by its episodes alone. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.learner import TrainRequest, read_request, worker_settings
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import count, decimal, duration

# So many episodes in a row have the mean return that counts, as everywhere here.
EPISODES = 100
# Who trains on for longer than this is not told when it began to be good.
MOST_EPISODES = 200_000


class Solved(NamedTuple):
    step: int
    seconds: float | None  # since the run started
    threshold: float

    @property
    def text(self) -> str:
        """`solved at step 58,112, after 4.2 s`"""
        after = f", after {duration(self.seconds)}" if self.seconds is not None else ""
        return f"solved at step {count(self.step)}{after}"

    @property
    def reason(self) -> str:
        return f"the mean return of {EPISODES} episodes reached {decimal(self.threshold)}"


class SolvingWatch:
    """Takes episodes in their order; says when the mean of the newest ones is high enough."""

    def __init__(self, threshold: float, started_at: float | None) -> None:
        self._threshold, self._started_at = threshold, started_at
        self._returns: deque[float] = deque(maxlen=EPISODES)
        self._steps = 0

    def add(self, episode: EpisodeSummary) -> Solved | None:
        if not (episode.terminated or episode.truncated):
            return None  # broken off: it has no return
        self._steps += episode.steps
        self._returns.append(episode.total_reward)
        if len(self._returns) < EPISODES or sum(self._returns) < self._threshold * EPISODES:
            return None
        seconds = None if self._started_at is None else episode.timestamp - self._started_at
        return Solved(_step(episode, self._steps), seconds, self._threshold)


def solved_at(
    episodes: Iterable[EpisodeSummary], threshold: float, started_at: float | None
) -> Solved | None:
    """The first moment; None where it never was."""
    watch = SolvingWatch(threshold, started_at)
    return next((found for item in episodes if (found := watch.add(item)) is not None), None)


def may_be_solved(record: RunRecord, threshold: float | None) -> bool:
    """Whether it is a training, and worth looking at all its episodes; of a whole record."""
    progress = record.progress
    request = read_request(worker_settings(record.config))
    return (
        threshold is not None
        and isinstance(request, TrainRequest)
        and request.algo is not None
        and progress.mean_return is not None
        and EPISODES <= progress.episodes <= MOST_EPISODES
    )


def _step(episode: EpisodeSummary, steps: int) -> int:
    """Of the whole training, where the worker tells it."""
    told = episode.metadata.get("step") if isinstance(episode.metadata, dict) else None
    return told if isinstance(told, int) else steps
