"""The rows of a run as an export wants them: stored ones, page by page, and simulated ones.

Most workers record actions only: a step has to be simulated to be seen. Only what is identical to
its record becomes a row.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from mosaic.client import calls
from mosaic.client.calls import Call, Page, SeriesRange
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.replay import EpisodeRecording
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import ConsentError, MosaicError, RequestError, UnknownRunError, WorkerError
from mosaic.export.run_rows import EpisodeChoice, LeftOutEpisode, PlayedEpisode
from mosaic.replay.simulation import Simulation, check_possible
from mosaic.worker.json_text import encode

T = TypeVar("T")

# As many as the daemon gives at once.
_ANY = 0


class CallFunction(Protocol):
    """Makes a call and waits for its answer."""

    def __call__(self, call: Call[T]) -> T: ...


class StoredRows:
    def __init__(self, ask: CallFunction, record: RunRecord) -> None:
        self.record = record
        self._ask = ask
        self._run_id = record.run_id

    def metrics(self) -> list[MetricInfo]:
        return self._ask(calls.metrics(self._run_id))

    def points(self, name: str) -> Iterator[MetricSeries]:
        cursor = 0
        while True:
            call = calls.series([self._run_id], [name], SeriesRange(), cursor)
            pages = self._ask(call)
            yield from pages
            cursor = pages[0].next_cursor if pages else 0
            if not cursor:
                return

    def episodes(self, choice: EpisodeChoice) -> Iterator[list[EpisodeSummary]]:
        """Oldest first; the best ones from the best on."""
        if choice.count:
            chosen = self._first_episodes(choice.order, choice.count)
            yield chosen[::-1] if choice.order == "newest" else chosen
            return
        for page in self._episode_pages(choice.order, _ANY):
            if chosen := [row for row in page if choice.holds(row.episode_index)]:
                yield chosen

    def steps(self, choice: EpisodeChoice) -> Iterator[list[TrainingStep] | LeftOutEpisode]:
        if choice.is_all:
            yield from self.steps_of(None)
            return
        for index in self.episode_indices(choice):
            yield from self.steps_of(index)

    def steps_of(self, episode_index: int | None) -> Iterator[list[TrainingStep]]:
        """Of this episode in the latest attempt that has it, or of all episodes."""
        yield from _pages(
            lambda cursor: self._ask(calls.steps(self._run_id, episode_index, None, cursor))
        )

    def episode_indices(self, choice: EpisodeChoice) -> Iterator[int]:
        """Each once, though several attempts may have it."""
        seen: set[int] = set()
        for page in self.episodes(choice):
            for episode in page:
                if episode.episode_index not in seen:
                    seen.add(episode.episode_index)
                    yield episode.episode_index

    def _first_episodes(self, order: str, count: int) -> list[EpisodeSummary]:
        found: list[EpisodeSummary] = []
        for page in self._episode_pages(order, count):
            found += page
            if len(found) >= count:
                break
        return found[:count]

    def _episode_pages(self, order: str, limit: int) -> Iterator[list[EpisodeSummary]]:
        yield from _pages(
            lambda cursor: self._ask(calls.episodes(self._run_id, order, limit, cursor))
        )


def _pages(page_at: Callable[[int], Page[T]]) -> Iterator[list[T]]:
    cursor = 0
    while True:
        page = page_at(cursor)
        if page.rows:
            yield page.rows
        cursor = page.next_cursor
        if not cursor:
            return


MOST_AT_ONCE = 8
FIRST_STEP_MISSING = (
    "it begins with its second step: the observation before the first one is not recorded"
)


def replayed_episodes(
    ask: CallFunction, rows: StoredRows, indices: Iterable[int], consents: Collection[str] = ()
) -> Iterator[PlayedEpisode | LeftOutEpisode]:
    """Simulated if possible, which gives every observation; else from the steps.

    Raises ConsentError where the one needs what nobody confirmed, and the other is not possible.

    In their order, but several at a time: most of what one takes is the start of its process.
    """
    at_once = min(MOST_AT_ONCE, len(os.sched_getaffinity(0)))
    waiting: deque[Future[PlayedEpisode | LeftOutEpisode]] = deque()
    pool = ThreadPoolExecutor(at_once, "playing again")
    try:
        for index in indices:
            if len(waiting) == at_once:
                yield waiting.popleft().result()
            waiting.append(pool.submit(_replayed, ask, rows, index, consents))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _replayed(
    ask: CallFunction, rows: StoredRows, index: int, consents: Collection[str]
) -> PlayedEpisode | LeftOutEpisode:
    try:
        run_id = rows.record.run_id
        recording = ask(calls.get_recording(run_id, index, None))
        if recording.consent is not None and recording.consent.digest in consents:
            consent = recording.consent.digest
            recording = ask(calls.get_recording(run_id, index, None, consent))
        check_possible(recording)
        return _simulated(recording)
    except UnknownRunError:
        raise
    except ConsentError as error:
        found = _from_steps(rows, index, why_not_simulated=error)
        if isinstance(found, LeftOutEpisode):
            raise
        return found
    except (WorkerError, RequestError) as error:
        return _from_steps(rows, index, why_not_simulated=error)


def _simulated(recording: EpisodeRecording) -> PlayedEpisode | LeftOutEpisode:
    episode = recording.episode
    with Simulation(recording) as simulation:
        moments = list(simulation.stream(observations=True))
        difference = simulation.difference
    if difference:
        return LeftOutEpisode(episode.episode_index, f"played again, it {difference}")
    taken = moments[1:]
    return PlayedEpisode(
        episode.episode_index,
        observations=[moment.observation for moment in moments],
        actions=[moment.action for moment in taken],
        rewards=[moment.reward for moment in taken],
        terminations=[moment.terminated for moment in taken],
        truncations=[moment.truncated for moment in taken],
        seed=episode.episode_seed,
        env_kwargs=env_kwargs(recording),
        summary=episode,
        values=recording.values,
    )


def env_kwargs(recording: EpisodeRecording) -> dict[str, Any]:
    """Settings are up to the maker, but this name is Gymnasium's convention."""
    found = recording.settings.get("env_kwargs")
    return dict(found) if isinstance(found, dict) else {}


def _from_steps(
    rows: StoredRows, episode_index: int, why_not_simulated: MosaicError
) -> PlayedEpisode | LeftOutEpisode:
    """A recorded step has the observation that its action led to, not the one before it."""
    steps = [step for page in rows.steps_of(episode_index) for step in page]
    if not has_observations(steps):
        return LeftOutEpisode(episode_index, why_not_simulated.message)
    taken = steps[1:]
    return PlayedEpisode(
        episode_index,
        observations=[step.observation for step in steps],
        actions=[step.action for step in taken],
        rewards=[step.reward for step in taken],
        terminations=[step.terminated for step in taken],
        truncations=[step.truncated for step in taken],
        seed=steps[0].episode_seed,
        note=FIRST_STEP_MISSING,
    )


def has_observations(steps: list[TrainingStep]) -> bool:
    """All steps from the first on, each with what was seen after it."""
    return bool(steps) and all(
        step.observation is not None and step.step_index == index
        for index, step in enumerate(steps, steps[0].step_index)
    )


class RowsWithAllSteps(StoredRows):
    def __init__(
        self, ask: CallFunction, record: RunRecord, consents: Collection[str] = ()
    ) -> None:
        super().__init__(ask, record)
        self._consents = consents

    def steps(self, choice: EpisodeChoice) -> Iterator[list[TrainingStep] | LeftOutEpisode]:
        """First what is stored, then what is replayed, or why an episode cannot be."""
        stored: Counter[int] = Counter()
        for found in super().steps(choice):
            if isinstance(found, list):
                stored.update(step.episode_index for step in found)
            yield found
        gaps: list[LeftOutEpisode] = []
        missing = self._without_steps(choice, stored, gaps)
        for episode in replayed_episodes(self._ask, self, missing, self._consents):
            if isinstance(episode, LeftOutEpisode):
                yield episode
            elif episode.summary is None:  # it continues, and has stored them meanwhile
                yield from self.steps_of(episode.episode_index)
            else:
                yield simulated_steps(episode, episode.summary)
        if self.record.is_over:  # else the rest is on its way
            yield from gaps

    def _without_steps(
        self, choice: EpisodeChoice, stored: Counter[int], gaps: list[LeftOutEpisode]
    ) -> Iterator[int]:
        """Episodes to be replayed; `gaps` gets those of which a part is stored."""
        seen: set[int] = set()
        for page in self.episodes(choice):
            for episode in page:
                index, count = episode.episode_index, stored[episode.episode_index]
                if index in seen or count >= episode.steps:
                    continue
                seen.add(index)
                if count:
                    sentence = f"only {count} of its {episode.steps} steps were stored"
                    gaps.append(LeftOutEpisode(index, sentence))
                else:
                    yield index


def simulated_steps(episode: PlayedEpisode, summary: EpisodeSummary) -> list[TrainingStep]:
    """As a worker that reports every step would have told them, but all at the episode's time."""
    taken = zip(
        episode.actions,
        episode.observations[1:],
        episode.rewards,
        episode.terminations,
        episode.truncations,
        strict=True,
    )
    return [
        TrainingStep(
            run_id=summary.run_id,
            agent_id=summary.agent_id,
            worker_id=summary.worker_id,
            seq=summary.seq,
            timestamp=summary.timestamp,
            episode_index=summary.episode_index,
            step_index=index,
            action=_plain(action),
            observation=_plain(observation),
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            episode_seed=summary.episode_seed,
            info=_expected(episode.values, index),
        )
        for index, (action, observation, reward, terminated, truncated) in enumerate(taken)
    ]


def _expected(values: Sequence[float], index: int) -> dict[str, float] | None:
    """In the words of a worker that tells it with its steps."""
    is_known = index < len(values) and math.isfinite(values[index])
    return {"value": values[index]} if is_known else None


def _plain(value: Any) -> Any:
    """As a journal would have it: large arrays are described."""
    return json.loads(encode(value))
