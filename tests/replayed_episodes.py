"""Simulates recorded episodes of our own trainings again, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cleanrl_worker.replay import make_environment
from mosaic.contracts.replay import EpisodeStart, Moment
from mosaic.telemetry.recordings.episodes import RecordedEpisode, read_episode


def recorded(folder: Path, number: int, attempt: int | None = None) -> RecordedEpisode:
    found = read_episode(folder, number, attempt)
    assert found is not None, f"episode {number} is not recorded"
    return found


def replay(episode: RecordedEpisode) -> tuple[list[Moment], Any]:
    """Its moments, and what it looked like at the very end."""
    assert not episode.problem
    actions: Any = np.frombuffer(episode.actions, episode.action_dtype)
    actions = actions.reshape(len(episode.rewards), *episode.action_shape)
    env = make_environment(episode.settings)
    try:
        lead, own = actions[: episode.lead], actions[episode.lead :]
        env.begin(EpisodeStart(episode.start, episode.start_state, lead))
        return [env.step(action) for action in own], env.picture()
    finally:
        env.close()


def assert_replays_identically(folder: Path, number: int) -> None:
    episode = recorded(folder, number)
    moments, picture = replay(episode)
    assert [moment.reward for moment in moments] == list(episode.rewards[episode.lead :])
    ends = [(moment.terminated, moment.truncated) for moment in moments]
    assert ends[-1] == (episode.end.terminated, episode.end.truncated)
    assert not any(terminated or truncated for terminated, truncated in ends[:-1])
    assert picture.dtype == np.uint8 and picture.ndim == 3 and picture.shape[2] == 3
