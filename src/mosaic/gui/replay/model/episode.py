"""EpisodeSteps: a recorded episode step by step; and the rows of the list of episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.front.human import amount, count, decimal
from mosaic.front.run_words import action_text
from mosaic.replay.playback import recorded_actions

COLUMNS = ("Step", "Action", "Reward", "Return", "Value", "End")
_NOTHING = "–"
# Episodes whose rewards are nearly all alike (1, 1, 1, …) have no extremes worth a mark.
_MOST_MARKS = 40


@dataclass(frozen=True)
class EpisodeSteps:
    """A recorded episode step by step, as its table and its marks show it."""

    actions: Sequence[Any]  # of the episode alone, without those that lead to its beginning
    rewards: tuple[float, ...]
    returns: tuple[float, ...]  # after each step, from 0 on
    end: str  # "terminated", "cut off" or empty
    values: tuple[float, ...] = ()  # what the agent expected before each step, where that is told

    @classmethod
    def of(cls, recording: EpisodeRecording) -> EpisodeSteps:
        """What is damaged in it is left out: the simulation will say so."""
        lead = max(0, recording.lead)
        rewards = recording.rewards[lead:]
        try:
            actions = recorded_actions(recording)[lead:]
        except WorkerError:
            actions = ()
        episode = recording.episode
        end = "terminated" if episode.terminated else "cut off" if episode.truncated else ""
        return cls(actions, rewards, tuple(accumulate(rewards, initial=0.0)), end, recording.values)

    def __len__(self) -> int:
        return len(self.rewards)

    def cells(self, step: int) -> tuple[str, str, str, str, str, str]:
        """A row of the table; row 0 is the beginning, without action."""
        if step <= 0:
            return ("0", _NOTHING, _NOTHING, decimal(0.0), self._value(0), "")
        return (
            count(step),
            self.action(step),
            decimal(self.rewards[step - 1]),
            decimal(self.returns[step]),
            self._value(step),
            self.end if step == len(self) else "",
        )

    def action(self, step: int) -> str:
        """Which one led to this step."""
        place = step - 1
        return action_text(self.actions[place]) if 0 <= place < len(self.actions) else _NOTHING

    def _value(self, step: int) -> str:
        """What the agent expected of the state that this step led to."""
        is_known = step < len(self.values) and not math.isnan(self.values[step])
        return decimal(self.values[step]) if is_known else _NOTHING

    @property
    def lowest(self) -> int | None:
        """The first step with the lowest reward; None where no two rewards differ."""
        return self._extreme(min)

    @property
    def highest(self) -> int | None:
        return self._extreme(max)

    def _extreme(self, choose: Any) -> int | None:
        finite = [reward for reward in self.rewards if math.isfinite(reward)]
        if not finite or min(finite) == max(finite):
            return None
        return self.rewards.index(choose(finite)) + 1

    def marks(self) -> tuple[list[int], list[int]]:
        """Steps with the lowest and with the highest reward, where they are few."""
        finite = [reward for reward in self.rewards if math.isfinite(reward)]
        if not finite or min(finite) == max(finite):
            return [], []
        low, high = min(finite), max(finite)
        lows = [at for at, reward in enumerate(self.rewards, 1) if reward == low]
        highs = [at for at, reward in enumerate(self.rewards, 1) if reward == high]
        return (
            lows if len(lows) <= _MOST_MARKS else [],
            highs if len(highs) <= _MOST_MARKS else [],
        )


EPISODE_COLUMNS = ("Episode", "Return", "Steps", "Seed", "Ended")


def episode_cells(episode: EpisodeSummary) -> tuple[str, str, str, str, str]:
    return (
        count(episode.episode_index),
        decimal(episode.total_reward),
        count(episode.steps),
        _NO_SEED if episode.episode_seed is None else str(episode.episode_seed),
        ended_text(episode),
    )


_NO_SEED = "–"


def ended_text(episode: EpisodeSummary) -> str:
    if episode.terminated:
        return "terminated"
    return "cut off" if episode.truncated else "open"


def loaded_text(loaded: int, total: int, is_all: bool) -> str:
    """Below the list of episodes."""
    if is_all or total <= loaded:
        return amount(loaded, "episode")
    return f"{count(loaded)} of {amount(total, 'episode')}"


def new_episodes_text(listed_at: int, now: int) -> str:
    """What a running run has finished since the list was read; empty: nothing."""
    return f"{count(now - listed_at)} new" if now > listed_at else ""
