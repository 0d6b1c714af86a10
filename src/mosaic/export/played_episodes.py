"""Episodes with everything that a dataset needs of them, or why one cannot be had."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.events import EpisodeSummary


@dataclass(frozen=True)
class PlayedEpisode:
    """One more observation than actions: where it began, then what each action led to."""

    episode_index: int
    observations: list[Any]
    actions: list[Any]
    rewards: list[float]
    terminations: list[bool]
    truncations: list[bool]
    seed: int | None = None
    # What its environment was made with, besides its id.
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    # What is missing of it, when something is.
    note: str = ""
    # As the run told of it; of an episode that was simulated.
    summary: EpisodeSummary | None = None


@dataclass(frozen=True)
class LeftOutEpisode:
    episode_index: int
    reason: str
