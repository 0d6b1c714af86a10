"""Turns the messages of a script into reports of its run. One thread at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mosaic.contracts.process_recording import Place
from mosaic.watch.headlines import LENGTH, headline_of, is_one_episode, is_plainer
from mosaic.watch.messages import (
    MAX_COUNT,
    Environment,
    Episode,
    Episodes,
    Folder,
    Message,
    Metric,
    Note,
    Progress,
    Vectors,
)
from mosaic.watch.missing_returns import MissingReturns

MAX_METRIC_NAMES = 5_000
MAX_FOLDERS = 100
MAX_PROCESSES = 4_096
MAX_ENVIRONMENTS = 5  # to be named
BEAT_INTERVAL_S = 2.0


class Reporter(Protocol):
    """The part of a Run that is needed here."""

    steps: int
    episodes: int

    def metric(self, name: str, value: float, step: int) -> None: ...
    def episode(
        self,
        *,
        episode_index: int,
        total_reward: float,
        steps: int,
        terminated: bool,
        truncated: bool,
        metadata: Any = None,
    ) -> None: ...
    def progress(self, *, steps: int | None = None, episodes: int | None = None) -> None: ...
    def heartbeat(self, **details: Any) -> None: ...


class Recorder:
    """Call `take` with each message, `tick` now and then, and `finish` at the end."""

    def __init__(
        self,
        run: Reporter,
        say: Callable[[str], bool],
        clock: Callable[[], float] = time.monotonic,
        found_at: Callable[[Place], None] | None = None,
    ) -> None:
        """`say` takes a sentence for people; False when there were too many.

        `found_at` hears where a process of the script has recorded an episode of the run.
        """
        self._run = run
        self._say = say
        self._clock = clock
        self._found_at = found_at
        self.folders: dict[Folder, None] = {}  # in the order they were named
        self.headlines: dict[str, str] = {}  # headline: the script's own name for it
        self.dropped = 0
        self._names: dict[str, str | None] = {}  # every metric seen, and which headline it is
        self._environments: list[str] = []
        self._missing_returns = MissingReturns()
        self._steps_by_process: dict[int, int] = {}
        self._largest_metric_step = 0
        self._steps_in_episodes = 0
        self._has_real_episodes = False
        self._unfinished: Metric | None = None  # the return of an episode whose length may follow
        self._told = (0, 0)
        self._told_at = clock()

    @property
    def last_step(self) -> int:
        """Environment steps that were counted; else the steps of metrics; else of episodes.

        A metric's step may count updates, or calls of a logger, so it only stands in.
        """
        return (
            min(MAX_COUNT, sum(self._steps_by_process.values()))
            or self._largest_metric_step
            or self._steps_in_episodes
        )

    def take(self, message: Message) -> None:
        match message:
            case Metric():
                self._take_metric(message)
            case Episode():
                self._has_real_episodes = True
                self._take_episode(message)
            case Episodes():
                self._has_real_episodes = True
                self._take_episodes(message)
            case Progress():
                self._take_progress(message)
            case Note():
                self._note(message.text)
            case Environment():
                self._take_environment(message.env_id)
            case Vectors():
                self._missing_returns.vectors_were_made(message.gymnasium)
            case Folder():
                if len(self.folders) < MAX_FOLDERS:
                    self.folders[message] = None

    def tick(self) -> None:
        """Let progress be seen that no metric tells; also ends an episode without a length."""
        self._end_episode(0)
        self._look_for_returns()
        told = (self._run.steps, self._run.episodes)
        now = self._clock()
        if told != self._told and now - self._told_at >= BEAT_INTERVAL_S:
            self._told, self._told_at = told, now
            self._run.heartbeat()

    def finish(self) -> None:
        self._end_episode(0)
        self._look_for_returns()

    def _take_metric(self, metric: Metric) -> None:
        if metric.name not in self._names:
            if len(self._names) >= MAX_METRIC_NAMES:
                self.dropped += 1
                return
            headline = self._names[metric.name] = headline_of(metric.name)
            if headline is not None:
                known = self.headlines.setdefault(headline, metric.name)
                if is_plainer(metric.name, than=known):
                    self.headlines[headline] = metric.name
        if metric.step is not None and metric.step > self._largest_metric_step:
            self._largest_metric_step = metric.step
            self._advance()
        self._missing_returns.metric_came(metric.name)
        step = self.last_step if metric.step is None else metric.step
        self._run.metric(metric.name, metric.value, step)
        if not self._has_real_episodes:
            self._infer_episode(metric)

    def _infer_episode(self, metric: Metric) -> None:
        """Where no environment tells its episodes, a logged return is one, with the length that
        is usually logged right after it."""
        if self._names[metric.name] == LENGTH and self._unfinished is not None:
            is_sound = self._unfinished.step == metric.step and 0 <= metric.value <= MAX_COUNT
            self._end_episode(int(metric.value) if is_sound else 0)
            return
        self._end_episode(0)
        if is_one_episode(metric.name):
            self._unfinished = metric

    def _end_episode(self, length: int) -> None:
        if self._unfinished is not None:
            total_reward, self._unfinished = self._unfinished.value, None
            self._take_episode(Episode(total_reward, length))

    def _take_episode(self, episode: Episode, **more: Any) -> None:
        if episode.process and self._found_at is not None:
            count = more.get("count", 1)
            place = Place(self._run.episodes, episode.process, episode.number, count)
            self._found_at(place)
        self._run.episode(
            episode_index=self._run.episodes,
            total_reward=episode.total_reward,
            steps=episode.length,
            terminated=not episode.is_truncated,
            truncated=episode.is_truncated,
            metadata=self._episode_facts(episode, more),
        )
        self._steps_in_episodes = min(MAX_COUNT, self._steps_in_episodes + episode.length)
        self._advance()

    def _take_episodes(self, message: Episodes) -> None:
        """One event stands for all of them; how many there were is told by the progress."""
        length = message.mean_length
        mean = Episode(
            message.mean_return,
            int(length) if 0 <= length <= MAX_COUNT else 0,
            process=message.process,
            number=message.number,
        )
        self._take_episode(mean, count=message.how_many, last_return=_finite(message.last_return))
        others = message.how_many - 1
        self._run.progress(episodes=min(MAX_COUNT, self._run.episodes + others))
        self._steps_in_episodes = min(MAX_COUNT, self._steps_in_episodes + others * mean.length)
        self._advance()

    def _episode_facts(self, episode: Episode, more: Mapping[str, Any]) -> dict[str, Any]:
        """With the training step at which it ended.

        Steps are told less often than episodes, and count unfinished ones too: whichever is more.
        """
        in_episodes = self._steps_in_episodes + episode.length * more.get("count", 1)
        counted = sum(self._steps_by_process.values())
        # A return that was logged is at the step it was logged with.
        step = max(counted, in_episodes) if self._has_real_episodes else self.last_step
        return {"env": episode.env, "step": min(MAX_COUNT, step), **more}

    def _take_progress(self, progress: Progress) -> None:
        known = self._steps_by_process
        if progress.pid in known or len(known) < MAX_PROCESSES:
            known[progress.pid] = max(known.get(progress.pid, 0), progress.steps)
            self._advance()

    def _take_environment(self, env_id: str) -> None:
        """Told at once: with its first environment a script has got ready."""
        if env_id not in self._environments and len(self._environments) < MAX_ENVIRONMENTS:
            self._environments.append(env_id)
            self._run.heartbeat(env_id=", ".join(self._environments))

    def _look_for_returns(self) -> None:
        if self._has_real_episodes:
            alarm = self._missing_returns.alarm(self.last_step, self._run.episodes)
            if alarm is not None:
                self._note(alarm)

    def _note(self, text: str) -> None:
        if not self._say(text):
            self.dropped += 1

    def _advance(self) -> None:
        self._run.progress(steps=max(self._run.steps, self.last_step))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
