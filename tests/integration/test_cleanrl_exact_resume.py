"""A training killed with SIGKILL and resumed ends with the weights of one that was never stopped.

It is recorded and the other is not, so that recording is seen to change nothing; and its episodes
can be simulated again, those before the kill, those after, and those it cut in two.

Every algorithm at small scale, each in processes of its own, forked from a server that has
imported torch already.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.recording_file import recording_name
from mosaic.telemetry.recordings.episodes import recorded_episodes
from tests.replayed_episodes import assert_replays_identically
from tests.waiting import PATIENCE_S, wait_until

pytest.importorskip("torch")

SPAWN = multiprocessing.get_context("forkserver")
SPAWN.set_forkserver_preload(["tests.small_trainings"])


@dataclass(frozen=True)
class Training:
    algo: str
    env_id: str
    total_timesteps: int
    interval: int
    values: dict[str, Any] = field(default_factory=dict)


PPO = {"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 2}
PPO_ATARI = {"num_envs": 2, "num_steps": 8, "num_minibatches": 2, "update_epochs": 1}
REPLAY = {"learning_starts": 60, "buffer_size": 300, "batch_size": 16}
FRAMES = {**REPLAY, "train_frequency": 16}
MUJOCO = {"num_steps": 64, "num_minibatches": 2, "update_epochs": 2}
PONG = "PongNoFrameskip-v4"
TRAININGS = (
    Training("ppo", "CartPole-v1", 4096, 256, PPO),
    Training("ppo", "MiniGrid-Empty-5x5-v0", 1024, 128, PPO),
    Training("ppo_continuous_action", "Hopper-v4", 2048, 256, MUJOCO),
    Training("rpo_continuous_action", "HalfCheetah-v5", 1536, 256, MUJOCO),
    Training("ppo_atari", PONG, 160, 32, PPO_ATARI),
    Training("ppo_atari_lstm", PONG, 160, 32, PPO_ATARI),
    Training("pqn", "Acrobot-v1", 2048, 256, PPO),
    Training("dqn", "CartPole-v1", 1500, 200, {**REPLAY, "target_network_frequency": 50}),
    Training("dqn_atari", PONG, 240, 60, FRAMES),
    Training("c51", "MountainCar-v0", 1000, 200, REPLAY),
    Training("c51_atari", PONG, 240, 60, FRAMES),
    Training("ddpg_continuous_action", "Pendulum-v1", 400, 100, REPLAY),
    Training("td3_continuous_action", "Hopper-v4", 400, 100, REPLAY),
    Training("sac_continuous_action", "Pendulum-v1", 400, 100, REPLAY),
    Training("sac_atari", PONG, 160, 40, {**REPLAY, "update_frequency": 16}),
)


def start(
    training: Training, directory: Path, is_resuming: bool = False, recording: str = ""
) -> Any:
    from tests.small_trainings import train_in_process

    values = {"env_id": training.env_id, "total_timesteps": training.total_timesteps}
    values |= {"checkpoint_interval": training.interval, "threads": 1, **training.values}
    process = SPAWN.Process(
        target=train_in_process,
        args=(training.algo, values, str(directory), is_resuming, recording),
    )
    process.start()
    return process


def finish(process: Any) -> None:
    process.join(PATIENCE_S)
    assert process.exitcode == 0


def saved_steps(directory: Path) -> list[int]:
    for manifest in directory.glob("runs/*/*.state/manifest.json"):
        return [item["step"] for item in json.loads(manifest.read_bytes())["generations"]]
    return []


def weights(directory: Path) -> str:
    from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
    from cleanrl_worker.kit.checkpoints.model_file import load_payload, weight_hash

    path = find_checkpoint(directory)
    assert path is not None
    return weight_hash(load_payload(path))


@pytest.mark.parametrize("training", TRAININGS, ids=lambda item: f"{item.algo}-{item.env_id}")
def test_killed_and_resumed_it_ends_with_the_same_weights(
    training: Training, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    undisturbed = start(training, whole)
    recordings = broken / "recordings"
    victim = start(training, broken, recording=str(recordings / recording_name(1)))
    # A different moment for each algorithm, the same in every run of the test.
    saves = 1 + int(hashlib.sha256(training.algo.encode()).hexdigest(), 16) % 3
    moment = saves * training.interval
    wait_until(
        lambda: max(saved_steps(broken), default=0) >= moment or not victim.is_alive(),
        PATIENCE_S,
        f"a checkpoint at step {moment}",
    )
    os.kill(victim.pid, signal.SIGKILL)
    victim.join(PATIENCE_S)
    before = max(saved_steps(broken))
    finish(undisturbed)
    second = str(recordings / recording_name(2))
    finish(start(training, broken, is_resuming=True, recording=second))
    assert before < training.total_timesteps, "it was killed too late to prove anything"
    assert weights(broken) == weights(whole)
    numbers = recorded_episodes(recordings)
    assert numbers == list(range(len(numbers)))
    resumed = recorded_episodes(recordings, attempt=2)
    for number in {*numbers[:1], *numbers[-1:], *resumed[:3]}:
        assert_replays_identically(recordings, number)
