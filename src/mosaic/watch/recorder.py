"""Turns the messages of a script into reports of its run. One thread at a time."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any, Protocol

from mosaic.contracts.metrics import (
    EPISODIC_LENGTH,
    EVALUATION,
    headline_of,
    is_one_episode,
    is_plainer,
)
from mosaic.contracts.process_recording import Place
from mosaic.watch.aggregation import PER_SECOND, Allowance, EpisodeSums, PointSums
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

# -- A script that misses its returns, since it was written for Gymnasium < 1.0
#
# It looks for finished episodes in `infos["final_info"]`, which vectors of environments no longer
# have: it trains, writes its losses, and its most important curve is missing without any error.
# One that waits for such an episode waits for ever.

# Episodes of MuJoCo last 1,000 steps and some scripts log every so many episodes: before this
# nothing can be said.
MIN_EPISODES = 100
MIN_STEPS = 10_000
MIN_POINTS = 10
# A script that logs nothing at all may only print; whether it waits for something, time tells.
SILENT_S = 45.0
# Where the script is known to look for what is not there, a few episodes are enough.
LOOKED_FOR_EPISODES = 10
LOOKED_FOR_S = 5.0

_ABOUT_EPISODES = re.compile(
    r"return|reward|episod|score|success|(?<![a-z])(ep|ret|rew)(rew|ret|len)?(?![a-z])"
)


def is_about_episodes(metric_name: str) -> bool:
    """In any of the words people use; better one too many than a false alarm."""
    return _ABOUT_EPISODES.search(metric_name.lower()) is not None


class MissingReturns:
    """Told what happens; `alarm` is the sentence for people, once."""

    def __init__(self) -> None:
        self._gymnasium = ""
        self._is_looked_for = False
        self._made_at = 0.0
        self._points = 0
        self._is_settled = False

    def vectors_were_made(self, gymnasium: str, now: float, *, is_looked_for: bool = False) -> None:
        """By this version, 1.0 or newer, and without saying how they reset.

        `is_looked_for`: who made them looks for `final_info`.
        """
        if not self._gymnasium:
            self._made_at = now
        self._gymnasium = gymnasium
        self._is_looked_for |= is_looked_for

    def metric_came(self, name: str) -> None:
        self._points += 1
        if not self._is_settled and is_about_episodes(name):
            self._is_settled = True

    def alarm(self, steps: int, episodes: int, now: float) -> str | None:
        if self._is_settled or not self._gymnasium:
            return None
        waited = now - self._made_at
        if self._is_looked_for and episodes >= LOOKED_FOR_EPISODES and waited >= LOOKED_FOR_S:
            missing = "and the script looks for them in `final_info`, which is not there: it is"
        elif steps < MIN_STEPS or episodes < MIN_EPISODES:
            return None
        elif self._points >= MIN_POINTS:
            missing = "but the script has logged no episodic return: it may be"
        elif self._points == 0 and waited >= SILENT_S:
            missing = "but the script has logged nothing at all: if it waits for them, it may be"
        else:
            return None
        self._is_settled = True
        return (
            f"{steps:,} steps and {episodes:,} finished episodes, {missing} written for Gymnasium"
            f" before 1.0 (here it is {self._gymnasium}); try `mosaic watch --compat`"
        )


# -- The recorder

MAX_METRIC_NAMES = 5_000
MAX_FOLDERS = 100
MAX_PROCESSES = 4_096
MAX_ENVIRONMENTS = 5  # to be named
BEAT_INTERVAL_S = 2.0
SUMMED_UP_S = 1.0
INFERRED_S = 1.0
TOO_MANY = (
    f"more than {PER_SECOND:,} values and episodes a second for long: those beyond are summed up a"
    " second at a time, with their exact number, mean, lowest, highest, first and last"
)


class Reporter(Protocol):
    """The part of a Run that is needed here."""

    steps: int
    episodes: int

    def metric(self, name: str, value: float, step: int) -> None: ...
    def metric_summary(self, name: str, mean: float, step: int, **summary: float) -> None: ...
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
        self._counted_steps = 0  # by all processes
        self._largest_metric_step = 0
        self._steps_in_episodes = 0
        self._evaluations = self._steps_in_evaluation = 0
        self._has_environments = False
        self._unfinished: Metric | None = None  # the return of an episode whose length may follow
        # Returns that were logged, and at which step: episodes, if no environment shows up.
        self._inferred: list[tuple[Episode, int]] = []
        self._told = (0, 0)
        self._told_at = self._summed_up_at = self._inferred_at = clock()
        self._allowance = Allowance(clock())
        self._points: dict[tuple[str, bool], PointSums] = {}
        self._episodes: dict[tuple[int, bool, bool], EpisodeSums] = {}

    @property
    def last_step(self) -> int:
        """Environment steps that were counted; else the steps of metrics; else of episodes.

        A metric's step may count updates, or calls of a logger, so it only stands in.
        """
        return self._counted_steps or self._largest_metric_step or self._steps_in_episodes

    def take(self, message: Message) -> None:
        match message:
            case Metric():
                self._take_metric(message)
            case Episode():
                self._has_environments = True
                self._take_episode(message)
            case Episodes():
                self._has_environments = True
                self._take_episodes(message)
            case Progress():
                self._take_progress(message)
            case Note():
                self._note(message.text)
            case Environment():
                self._take_environment(message.env_id)
            case Vectors():
                self._missing_returns.vectors_were_made(
                    message.gymnasium, self._clock(), is_looked_for=message.is_looked_for
                )
            case Folder():
                if len(self.folders) < MAX_FOLDERS:
                    self.folders[message] = None

    def tick(self) -> None:
        """Let progress be seen that no metric tells; also ends an episode without a length."""
        self._end_inferred(0)
        self._look_for_returns()
        told = (self._run.steps, self._run.episodes)
        now = self._clock()
        self._allowance.refill(now)
        if now - self._summed_up_at >= SUMMED_UP_S:
            self._summed_up_at = now
            self._tell_sums()
        if now - self._inferred_at >= INFERRED_S:
            self._inferred_at = now
            self._tell_inferred()
        if told != self._told and now - self._told_at >= BEAT_INTERVAL_S:
            self._told, self._told_at = told, now
            self._run.heartbeat()

    def finish(self) -> None:
        self._end_inferred(0)
        self._tell_inferred()
        self._tell_sums()
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
        if self._allowance.take():
            self._run.metric(metric.name, metric.value, step)
        else:
            key = metric.name, math.isfinite(metric.value)
            self._points.setdefault(key, PointSums()).add(metric.value, step)
        if not self._has_environments:
            self._infer_episode(metric)

    def _infer_episode(self, metric: Metric) -> None:
        """Where no environment is seen, a logged return is an episode, with the length that is
        usually logged right after it."""
        if self._names[metric.name] == EPISODIC_LENGTH and self._unfinished is not None:
            is_sound = self._unfinished.step == metric.step and 0 <= metric.value <= MAX_COUNT
            self._end_inferred(int(metric.value) if is_sound else 0)
            return
        self._end_inferred(0)
        if is_one_episode(metric.name):
            self._unfinished = metric

    def _end_inferred(self, length: int) -> None:
        if self._unfinished is not None:
            logged, self._unfinished = self._unfinished, None
            step = self.last_step if logged.step is None else logged.step
            self._inferred.append((Episode(logged.value, length), step))

    def _tell_inferred(self) -> None:
        """Not at once: the process that has the environments may not have spoken yet."""
        inferred, self._inferred = self._inferred, []
        if not self._has_environments:
            for episode, step in inferred:
                self._tell_episode(episode, step=step)

    def _take_episode(self, episode: Episode) -> None:
        if self._allowance.take():
            self._tell_episode(episode)
            return
        key = episode.process, episode.is_evaluation, math.isfinite(episode.total_reward)
        sums = self._episodes.get(key)
        if sums is not None and not sums.takes(episode):
            self._tell_episode_sums(sums)
            sums = None
        if sums is None:
            sums = self._episodes[key] = EpisodeSums(episode)
        sums.add(episode)

    def _tell_episode(
        self, episode: Episode, *, took: int | None = None, step: int | None = None, **more: Any
    ) -> None:
        """`more` are facts about all that it stands for, which together `took` so many steps.

        It ended at this `step` of the training. Steps are told less often than episodes, and count
        unfinished ones too: whichever is more.
        """
        taken = episode.length if took is None else took
        if step is None:
            done = self._steps_in_episodes + (0 if episode.is_evaluation else taken)
            step = min(MAX_COUNT, max(self._counted_steps, done))
        count, number = more.get("count", 1), self._run.episodes + self._evaluations
        if episode.process and self._found_at is not None:
            self._found_at(Place(number, episode.process, episode.number, count))
        if episode.is_evaluation:
            more["purpose"] = EVALUATION
        self._run.episode(
            episode_index=number,
            total_reward=episode.total_reward,
            steps=episode.length,
            terminated=not episode.is_truncated,
            truncated=episode.is_truncated,
            metadata={"env": episode.env, "step": step, **more},
        )
        if episode.is_evaluation:
            self._evaluations += count
            self._steps_in_evaluation = min(MAX_COUNT, self._steps_in_evaluation + taken)
            return
        if count > 1:
            self._run.progress(episodes=min(MAX_COUNT, self._run.episodes + count - 1))
        self._steps_in_episodes = min(MAX_COUNT, self._steps_in_episodes + taken)
        self._advance()

    def _take_episodes(self, message: Episodes) -> None:
        """Of a program that reports by hand: one event stands for all of them."""
        length, count = message.mean_length, message.how_many
        mean = Episode(
            message.mean_return,
            int(length) if 0 <= length <= MAX_COUNT else 0,
            process=message.process,
            number=message.number,
        )
        last = _finite(message.last_return)
        self._tell_episode(mean, took=count * mean.length, count=count, last=last)

    def _tell_sums(self) -> None:
        """What came beyond the allowance since the last time."""
        points, self._points = self._points, {}
        episodes, self._episodes = self._episodes, {}
        if points or episodes:
            self._note(TOO_MANY)
        for (name, _), sums in points.items():
            self._run.metric_summary(
                name,
                sums.values.mean,
                sums.last_step,
                first_step=sums.first_step,
                **sums.values.fields(),
            )
        for each in episodes.values():
            self._tell_episode_sums(each)

    def _tell_episode_sums(self, sums: EpisodeSums) -> None:
        facts: dict[str, Any] = {
            name: _finite(value) for name, value in sums.returns.fields().items()
        }
        self._tell_episode(sums.mean_episode(), took=sums.steps, **facts)

    def _take_progress(self, progress: Progress) -> None:
        known = self._steps_by_process
        if progress.pid in known or len(known) < MAX_PROCESSES:
            gained = max(0, progress.steps - known.get(progress.pid, 0))
            known[progress.pid] = known.get(progress.pid, 0) + gained
            self._counted_steps = min(MAX_COUNT, self._counted_steps + gained)
            self._has_environments = self._has_environments or gained > 0
            self._advance()

    def _take_environment(self, env_id: str) -> None:
        """Told at once: with its first environment a script has got ready."""
        if env_id not in self._environments and len(self._environments) < MAX_ENVIRONMENTS:
            self._environments.append(env_id)
            self._run.heartbeat(env_id=", ".join(self._environments))

    def _look_for_returns(self) -> None:
        if self._has_environments:
            steps = self.last_step + self._steps_in_evaluation
            episodes = self._run.episodes + self._evaluations
            alarm = self._missing_returns.alarm(steps, episodes, self._clock())
            if alarm is not None:
                self._note(alarm)

    def _note(self, text: str) -> None:
        if not self._say(text):
            self.dropped += 1

    def _advance(self) -> None:
        self._run.progress(steps=max(self._run.steps, self.last_step))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
