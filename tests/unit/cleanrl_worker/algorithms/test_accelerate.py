"""With `--no-accelerate` the plain torch of an algorithm's file trains, and learns the same."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import load_payload, split_payload
from cleanrl_worker.kit.training import run_training
from cleanrl_worker.launcher import make_arguments
from cleanrl_worker.registry import find_algorithm
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import RememberingReporter


@dataclass(frozen=True)
class Case:
    algo: str
    learner: str  # the plain one, in the algorithm's file
    env_id: str
    values: Mapping[str, Any]
    loss: str


ROLLOUT = {"num_envs": 2, "num_steps": 16, "num_minibatches": 2, "total_timesteps": 160}
REPLAY = {"batch_size": 16, "learning_starts": 40, "buffer_size": 300, "total_timesteps": 110}
CASES = (
    Case("ppo", "PPOLearner", "CartPole-v1", ROLLOUT, "losses/policy_loss"),
    Case("ppo_continuous_action", "PPOLearner", "Pendulum-v1", ROLLOUT, "losses/policy_loss"),
    Case("rpo_continuous_action", "PPOLearner", "Pendulum-v1", ROLLOUT, "losses/policy_loss"),
    Case("pqn", "PQNLearner", "CartPole-v1", ROLLOUT, "losses/td_loss"),
    Case("dqn", "DQNLearner", "CartPole-v1", REPLAY, "losses/td_loss"),
    Case("c51", "C51Learner", "CartPole-v1", REPLAY, "losses/loss"),
    Case("ddpg_continuous_action", "DDPGLearner", "Pendulum-v1", REPLAY, "losses/actor_loss"),
    Case("td3_continuous_action", "TD3Learner", "Pendulum-v1", REPLAY, "losses/actor_loss"),
    Case("sac_continuous_action", "SACLearner", "Pendulum-v1", REPLAY, "losses/alpha"),
)


def trained(
    case: Case, accelerate: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[torch.Tensor, int, RememberingReporter]:
    """The weights in the end, how often the plain learner updated them, and what was told."""
    algorithm = find_algorithm(case.algo)
    plain: Any = getattr(importlib.import_module(algorithm.module), case.learner)
    update, updates = plain.update, 0

    def counted(self: Any, *batch: Any) -> None:
        nonlocal updates
        updates += 1
        update(self, *batch)

    monkeypatch.setattr(plain, "update", counted)
    values = {"env_id": case.env_id, "threads": 1, **case.values, "accelerate": accelerate}
    reporter = RememberingReporter()
    run_training(algorithm, make_arguments(algorithm, values), reporter, folder)
    path = find_checkpoint(folder)
    assert path is not None
    weights = [
        value.flatten() for part in split_payload(load_payload(path)) for value in part.values()
    ]
    return torch.cat(weights), updates, reporter


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.algo)
def test_plain_and_accelerated_trainings_end_with_the_same_weights(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, none, told = trained(case, True, tmp_path / "fast", monkeypatch)
    plain, updates, plainly_told = trained(case, False, tmp_path / "plain", monkeypatch)
    assert none == 0, "the accelerator learns alone"
    assert updates > 5
    assert case.loss in plainly_told.metrics
    assert plainly_told.metrics.keys() == told.metrics.keys()
    assert "vectorization: native" in told.notes
    assert "vectorization: loop" in plainly_told.notes
    torch.testing.assert_close(plain, fast, rtol=0.0, atol=1e-4)
