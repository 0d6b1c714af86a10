"""Episodes of a run with all their observations: played again, or as they were recorded."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from mosaic.client import recording_calls
from mosaic.client.stored_rows import Ask, StoredRows
from mosaic.contracts.events import TrainingStep
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import ConsentError, MosaicError, RequestError, UnknownRunError, WorkerError
from mosaic.export.played_episodes import LeftOutEpisode, PlayedEpisode
from mosaic.replay.simulation import Simulation, check_possible

MOST_AT_ONCE = 8
FIRST_STEP_MISSING = (
    "it begins with its second step: the observation before the first one is not recorded"
)


def episodes_played_again(
    ask: Ask, rows: StoredRows, indices: Iterable[int], consents: Collection[str] = ()
) -> Iterator[PlayedEpisode | LeftOutEpisode]:
    """Simulated where that is possible, which gives every observation; else from the steps.

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
            waiting.append(pool.submit(_played_again, ask, rows, index, consents))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _played_again(
    ask: Ask, rows: StoredRows, index: int, consents: Collection[str]
) -> PlayedEpisode | LeftOutEpisode:
    try:
        run_id = rows.record.run_id
        recording = ask(recording_calls.get_recording(run_id, index, None))
        if recording.consent is not None and recording.consent.digest in consents:
            consent = recording.consent.digest
            recording = ask(recording_calls.get_recording(run_id, index, None, consent))
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
    )


def env_kwargs(recording: EpisodeRecording) -> dict[str, Any]:
    """Settings are the maker's own business, but this name is the custom of Gymnasium."""
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
