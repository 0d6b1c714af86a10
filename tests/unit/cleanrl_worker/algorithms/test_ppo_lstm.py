"""PPO with an LSTM: memory kept over rollouts and checkpoints, wiped between episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from cleanrl_worker.agents.lstm import LSTMAgent
from cleanrl_worker.algorithms import ppo_lstm
from cleanrl_worker.algorithms.ppo_lstm import PPOLSTMArguments, RecurrentPolicy, RecurrentRollout
from cleanrl_worker.environments.batch import Array, EnvBatch, Step
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    DriftingPoints,
    RememberingReporter,
    seeded_session,
    whole_and_resumed_weights,
)

SMALL = PPOLSTMArguments(
    num_envs=3, num_steps=5, num_minibatches=2, update_epochs=1, total_timesteps=40, threads=1
)


class DriftingFrames(EnvBatch):
    """DriftingPoints seen as frames: a bright column where the point is."""

    vectorization = "loop"

    def __init__(self, num_envs: int, push: float = 0.2) -> None:
        self.points = DriftingPoints(num_envs, push, gymnasium.spaces.Discrete(3))
        self.num_envs = num_envs
        self.observation_space = gymnasium.spaces.Box(0, 255, (1, 84, 84), np.uint8)
        self.action_space = self.points.action_space

    @staticmethod
    def frame(point: Array) -> Array:
        frame = np.zeros((1, 84, 84), np.uint8)
        frame[0, :, int(np.clip(42 + 30 * point[0], 0, 83))] = 255
        return frame

    @property
    def observations(self) -> Array:  # type: ignore[override]
        return np.stack([self.frame(point) for point in self.points.observations])

    def reset(self, seed: int) -> Array:
        self.points.reset(seed)
        return self.observations

    def step(self, actions: Array) -> Step:
        step = self.points.step(actions)
        finals = {index: self.frame(point) for index, point in step.finals.items()}
        return step._replace(observations=self.observations, finals=finals)

    def state_dict(self) -> dict[str, Any]:
        return self.points.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.points.load_state_dict(state)

    def close(self) -> None:
        self.points.close()


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Trains on DriftingFrames; the list holds what environments were asked for."""
    asked: list[dict[str, Any]] = []

    def make(env_id: str, num_envs: int, **settings: Any) -> DriftingFrames:
        asked.append(settings)
        return DriftingFrames(num_envs)

    monkeypatch.setattr("cleanrl_worker.kit.session.make_env_batch", make)
    return asked


def test_it_trains_on_single_frames_to_the_end_of_the_budget(frames: list[dict[str, Any]]) -> None:
    reporter = RememberingReporter()
    session = seeded_session(SMALL, reporter)
    ppo_lstm.train(SMALL, session)
    assert session.global_step == 42
    assert frames[0]["frame_stack"] == 1
    assert {"losses/clipfrac", "losses/approx_kl", "losses/explained_variance"} <= set(
        reporter.metrics
    )


def test_a_resumed_training_ends_with_the_same_weights(
    frames: list[dict[str, Any]], tmp_path: Path
) -> None:
    arguments = replace(SMALL, checkpoint_interval=15, total_timesteps=45)
    whole, resumed = whole_and_resumed_weights(
        arguments, lambda session: ppo_lstm.train(arguments, session), tmp_path, resume_at=15
    )
    assert weight_hash(whole) == weight_hash(resumed)


def test_a_rollout_evaluated_again_from_its_memory_agrees_with_what_was_said_while_acting() -> None:
    torch.manual_seed(1)
    envs = DriftingFrames(2, push=0.05)  # slow enough to be cut off
    envs.reset(1)
    policy = RecurrentPolicy(LSTMAgent(1, 3), 2)
    rollout = RecurrentRollout(12, envs, 3)
    arguments = replace(SMALL, num_envs=2, num_steps=12, total_timesteps=48)
    session = seeded_session(arguments)
    for _ in range(2):  # the second one starts amid episodes
        ppo_lstm.play(arguments, session, envs, policy, rollout)
    assert rollout.ended.any()
    assert rollout.cut_off
    with torch.no_grad():
        logits, values, after = policy.agent.policy_and_value(
            torch.from_numpy(rollout.observations[:12]),
            rollout.memory,
            torch.from_numpy(rollout.starts),
        )
    np.testing.assert_allclose(logits.numpy(), rollout.logits.reshape(-1, 3), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(values.numpy(), rollout.values.reshape(-1), rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(after, policy.memory, rtol=1e-3, atol=1e-5)
    batch = ppo_lstm.compute_advantages(rollout, policy, gamma=0.5, gae_lambda=0.0)
    step, env, _ = rollout.cut_off[0]
    expected = rollout.rewards[step, env] + 0.5 * rollout.final_values[step, env]
    assert batch.returns[step, env] == pytest.approx(expected, rel=1e-4)
    assert rollout.final_values[step, env] != 0.0


def test_spaces_without_frames_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cleanrl_worker.kit.session.make_env_batch", lambda *_, **__: DriftingPoints(3)
    )
    with pytest.raises(ConfigError, match="84x84"):
        ppo_lstm.train(SMALL, seeded_session(SMALL))


def test_without_accelerators_it_trains_the_same(
    frames: list[dict[str, Any]], tmp_path: Path
) -> None:
    weights = []
    for accelerate in (True, False):
        arguments = replace(SMALL, accelerate=accelerate)
        store = CheckpointStore(tmp_path / str(accelerate), "test")
        ppo_lstm.train(arguments, seeded_session(arguments, store=store))
        weights.append(weight_hash(load_checkpoint(tmp_path / str(accelerate)).weights))
    assert weights[0] == weights[1]
    assert [asked["allow_native"] for asked in frames] == [True, False]
