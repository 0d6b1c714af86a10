"""A new training begins with the networks of another one, whatever its algorithm is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.loading import Checkpoint, load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.training import run_training
from cleanrl_worker.launcher import make_arguments
from cleanrl_worker.registry import find_algorithm
from cleanrl_worker.resuming import WarmStart, warm_start_from
from tests.small_trainings import SilentReporter

REPLAY = {"buffer_size": 300, "batch_size": 16}
ROLLOUT = {"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 1}
# Each: what it learns with, and what it must be told so that it learns nothing.
LEARNERS = (
    ("ppo_continuous_action", "Pendulum-v1", {**ROLLOUT, "num_envs": 1}, {"learning_rate": 0.0}),
    ("pqn", "CartPole-v1", ROLLOUT, {"learning_rate": 0.0}),
    ("dqn", "CartPole-v1", {**REPLAY, "learning_starts": 60}, {"learning_starts": 9999}),
    ("c51", "CartPole-v1", {**REPLAY, "learning_starts": 60}, {"learning_starts": 9999}),
    *(
        (algo, "Pendulum-v1", {**REPLAY, "learning_starts": 60}, {"learning_starts": 9999})
        for algo in ("ddpg_continuous_action", "td3_continuous_action", "sac_continuous_action")
    ),
)

TARGETS = {
    "dqn": ("target",),
    "c51": ("target",),
    "ddpg_continuous_action": ("target_actor", "qf1_target"),
    "td3_continuous_action": ("target_actor", "qf1_target", "qf2_target"),
    "sac_continuous_action": ("qf1", "qf2", "qf1_target", "qf2_target"),
}


def train(
    algo: str, values: dict[str, Any], directory: Path, warm_start: WarmStart | None = None
) -> Checkpoint:
    algorithm = find_algorithm(algo)
    arguments = make_arguments(algorithm, {**values, "total_timesteps": 128, "threads": 1})
    run_training(algorithm, arguments, SilentReporter(), directory, warm_start=warm_start)
    path = find_checkpoint(directory)
    assert path is not None
    return load_checkpoint(path)


@pytest.mark.parametrize(("algo", "env_id", "learning", "idle"), LEARNERS)
def test_it_begins_with_everything_the_other_one_has_learned(
    algo: str, env_id: str, learning: dict[str, Any], idle: dict[str, Any], tmp_path: Path
) -> None:
    first = train(algo, {"env_id": env_id, **learning}, tmp_path / "first")
    warm = warm_start_from(first.path, find_algorithm(algo))
    values = {"env_id": env_id, **learning, **idle, "seed": 5}
    second = train(algo, values, tmp_path / "second", warm)
    assert weight_hash(second.weights) == weight_hash(first.weights)
    assert second.step == 128, "its own steps, not those of the other one"
    for name in TARGETS.get(algo, ()):
        assert weight_hash(second.part(name)) == weight_hash(first.part(name)), name


def test_observations_keep_their_scale(tmp_path: Path) -> None:
    values = {"env_id": "Pendulum-v1", **ROLLOUT, "num_envs": 1}
    algo = "ppo_continuous_action"
    first = train(algo, values, tmp_path / "first")
    warm = warm_start_from(first.path, find_algorithm(algo))
    second = train(algo, {**values, "seed": 5}, tmp_path / "second", warm)
    before, after = (
        one.part("envs")["statistics"]["observations"]["count"] for one in (first, second)
    )
    assert after == pytest.approx(before + 128, abs=2)
    assert np.isfinite(second.part("envs")["statistics"]["observations"]["mean"]).all()
