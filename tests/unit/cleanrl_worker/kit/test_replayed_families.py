"""Recorded and simulated again, bit for bit: one environment of each family, and odd ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.kit.recording import BatchRecorder, RecordedBatch
from mosaic.contracts.recording_file import recording_name
from mosaic.errors import DependencyError
from mosaic.telemetry.recordings.episodes import recorded_episodes
from tests.replayed_episodes import assert_replays_identically
from tests.unit.cleanrl_worker.environments.batch_comparison import random_actions

SHORT = {"max_episode_steps": 30}


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "steps"),
    [
        ("Acrobot-v1", {}, 520),
        ("Taxi-v4", {}, 250),
        ("Blackjack-v1", {}, 20),
        ("LunarLander-v3", {}, 200),
        ("BipedalWalker-v3", SHORT, 70),
        ("CarRacing-v3", {"max_episode_steps": 8}, 20),
        ("Hopper-v4", {}, 160),
        ("Pusher-v5", SHORT, 70),  # draws places at each reset
        ("HalfCheetah-v5", SHORT, 70),
        ("BreakoutNoFrameskip-v4", {}, 250),  # lives are episodes in training
        ("ALE/Pong-v5", {**SHORT, "repeat_action_probability": 0.25}, 70),
        ("MiniGrid-Dynamic-Obstacles-6x6-v0", {}, 60),
        ("BabyAI-GoToRedBallGrey-v0", {}, 140),
        ("dm_control/cartpole-swingup-v0", SHORT, 70),
    ],
)
def test_episodes_of_a_family(
    tmp_path: Path, env_id: str, env_kwargs: dict[str, Any], steps: int
) -> None:
    try:
        inside = make_env_batch(env_id, 2, env_kwargs=env_kwargs, vectorization="loop")
    except DependencyError as error:
        pytest.skip(error.message)
    notes: list[str] = []
    recorder = BatchRecorder(tmp_path / recording_name(1), 10**9, notes.append)
    batch = RecordedBatch(inside, recorder, {"env_id": env_id, "env_kwargs": env_kwargs})
    batch.reset(3)
    batch.begin(0, 0, is_resumed=False)
    draw = random_actions(batch)
    episodes = [episode for _ in range(steps) for episode in batch.step(draw()).episodes]
    batch.close()
    assert not notes
    numbers = recorded_episodes(tmp_path)
    assert len(numbers) == len(episodes) >= 2
    for number in {numbers[0], numbers[-1]}:
        assert_replays_identically(tmp_path, number)
