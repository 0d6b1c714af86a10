"""RecordedEpisode: what a recording knows of one episode."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.recording_file import EpisodeEnd

# No answer has room for more, and nobody would wait for so long a replay.
MAX_STEPS = 5_000_000
TOO_LONG = f"it is longer than {MAX_STEPS:,} steps, which is too long to be replayed"


@dataclass(frozen=True)
class RecordedEpisode:
    """The part of an EpisodeRecording (contracts/replay.py) that a recording knows."""

    episode_index: int
    attempt: int
    end: EpisodeEnd
    env_id: str
    settings: dict[str, Any]
    action_dtype: str
    action_shape: tuple[int, ...]
    start: dict[str, Any] = field(default_factory=dict)
    start_state: bytes = b""
    lead: int = 0
    actions: bytes = b""
    actions_json: tuple[Any, ...] = ()
    rewards: tuple[float, ...] = ()  # those of the lead included
    problem: str = ""
    # Where it was not recorded by its worker: who makes the environment again, and where.
    maker: str = ""
    python: str = ""
    path: tuple[str, ...] = ()
