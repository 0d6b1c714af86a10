"""RowsWithAllSteps: the steps a run has stored, and those that can be simulated from its actions.

Most workers record actions only: a step has to be played again to be seen. It is the same
simulation as for a dataset, so only what is identical to its record becomes a row.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from mosaic.client.played_again import episodes_played_again
from mosaic.client.stored_rows import Ask, StoredRows
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.run_record import RunRecord
from mosaic.export.episode_choice import EpisodeChoice
from mosaic.export.played_episodes import LeftOutEpisode, PlayedEpisode
from mosaic.worker.json_text import encode


class RowsWithAllSteps(StoredRows):
    def __init__(self, ask: Ask, record: RunRecord, consents: Collection[str] = ()) -> None:
        super().__init__(ask, record)
        self._consents = consents

    def steps(self, choice: EpisodeChoice) -> Iterator[list[TrainingStep] | LeftOutEpisode]:
        """First what is stored, then what is played again, or why an episode cannot be."""
        stored: Counter[int] = Counter()
        for found in super().steps(choice):
            if isinstance(found, list):
                stored.update(step.episode_index for step in found)
            yield found
        gaps: list[LeftOutEpisode] = []
        missing = self._without_steps(choice, stored, gaps)
        for episode in episodes_played_again(self._ask, self, missing, self._consents):
            if isinstance(episode, LeftOutEpisode):
                yield episode
            elif episode.summary is None:  # it goes on, and has stored them meanwhile
                yield from self.steps_of(episode.episode_index)
            else:
                yield simulated_steps(episode, episode.summary)
        if self.record.is_over:  # else the rest is on its way
            yield from gaps

    def _without_steps(
        self, choice: EpisodeChoice, stored: Counter[int], gaps: list[LeftOutEpisode]
    ) -> Iterator[int]:
        """Episodes to be played again; `gaps` gets those of which a part is stored."""
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
        )
        for index, (action, observation, reward, terminated, truncated) in enumerate(taken)
    ]


def _plain(value: Any) -> Any:
    """As a journal would have it: large arrays are described."""
    return json.loads(encode(value))
