"""DQN: when it learns, what it learns from, how it goes on, and that it learns CartPole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cleanrl_worker.accelerators.learners import QMetrics
from cleanrl_worker.agents.q_networks import QNetwork
from cleanrl_worker.algorithms import dqn
from cleanrl_worker.algorithms.dqn import DQNArguments
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.optimizers import FlatParameters
from cleanrl_worker.kit.replay_buffers import Batch, FrameReplayBuffer
from cleanrl_worker.kit.session import TrainingDivergedError
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import (
    THREE_ACTIONS,
    BlinkingFrames,
    use_points,
)
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    EPISODE_LIMIT,
    DriftingPoints,
    RememberingReporter,
    seeded_session,
    train_on,
    whole_and_resumed_weights,
)

SMALL = DQNArguments(
    total_timesteps=160,
    buffer_size=64,
    batch_size=8,
    learning_starts=40,
    train_frequency=4,
    target_network_frequency=20,
)


class WatchedLearner:
    """Learns nothing and remembers when it was asked to."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.learnt_at: list[int] = []
        self.synced_at: list[int] = []
        self.asked_at: list[int] = []
        self.batches: list[Batch] = []

    def greedy(self, observations: Any) -> Any:
        self.asked_at.append(self.session.global_step)
        return np.zeros(len(observations), np.int64)

    def update(self, batch: Batch) -> None:
        self.learnt_at.append(self.session.global_step)
        self.batches.append(batch)

    def metrics(self) -> QMetrics:
        return QMetrics(loss=0.5, mean_value=2.0)


def watch(
    arguments: DQNArguments, reporter: RememberingReporter | None = None, planned: int = 0
) -> tuple[WatchedLearner, DriftingPoints]:
    session = seeded_session(arguments, reporter)
    session.planned_timesteps = planned or session.planned_timesteps
    learner = WatchedLearner(session)
    envs = DriftingPoints(arguments.num_envs, action_space=THREE_ACTIONS)

    def sync(target: FlatParameters, source: FlatParameters, fraction: float) -> None:
        assert fraction == arguments.tau
        learner.synced_at.append(session.global_step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dqn, "make_learner", lambda *_: learner)
        patch.setattr(FlatParameters, "move_towards", sync)
        train_on(envs, dqn.train, arguments, session)
    return learner, envs


def test_it_learns_and_syncs_at_the_times_it_was_told() -> None:
    learner, _ = watch(SMALL)
    assert learner.learnt_at == list(range(44, 161, 4))
    assert learner.synced_at == [60, 80, 100, 120, 140, 160]


def test_several_environments_keep_the_ratio_of_updates_to_steps() -> None:
    learner, envs = watch(replace(SMALL, num_envs=8))
    assert learner.learnt_at == [step for step in range(48, 161, 8) for _ in range(2)]
    assert len(envs.taken) == 20


@pytest.mark.parametrize("total", [1, 39, 41, 47, 50])
def test_the_budget_is_honoured_whatever_the_frequencies(total: int) -> None:
    learner, envs = watch(replace(SMALL, total_timesteps=total))
    assert len(envs.taken) == total
    assert learner.learnt_at == list(range(44, total + 1, 4))


def test_metrics_come_every_hundred_steps_and_name_the_loss_as_told() -> None:
    reporter = RememberingReporter()
    watch(replace(SMALL, total_timesteps=300), reporter)
    assert reporter.metrics["losses/td_loss"] == [(100, 0.5), (200, 0.5), (300, 0.5)]
    assert reporter.metrics["losses/q_values"] == [(100, 2.0), (200, 2.0), (300, 2.0)]
    assert [value for _, value in reporter.metrics["charts/epsilon"]][1:] == [0.05, 0.05]
    assert len(reporter.metrics["charts/episodic_return"]) >= 300 // EPISODE_LIMIT


def test_it_learns_from_true_successors_and_only_termination_ends_the_future() -> None:
    arguments = replace(SMALL, buffer_size=1000, batch_size=64)
    learner, envs = watch(arguments)
    successors = {}
    for before, actions, step in envs.taken:
        final = step.finals.get(0, step.observations[0])
        key = before[0].astype(np.float32).tobytes(), int(actions[0])
        successors[key] = final.astype(np.float32), bool(step.terminated[0])
    assert any(step.truncated[0] for _, _, step in envs.taken)
    assert any(step.terminated[0] for _, _, step in envs.taken)
    seen_ends = set()
    for batch in learner.batches:
        for row in range(64):
            successor, is_terminated = successors[
                batch.observations[row].tobytes(), int(batch.actions[row])
            ]
            np.testing.assert_array_equal(batch.next_observations[row], successor)
            assert batch.terminated[row] == is_terminated
            seen_ends.add(is_terminated)
    assert seen_ends == {True, False}


def test_exploration_is_over_after_its_part_of_the_planned_steps() -> None:
    arguments = replace(SMALL, end_e=0.0)
    learner, _ = watch(arguments)
    assert [step for step in learner.asked_at if step >= 80] == list(range(80, 160))
    assert len([step for step in learner.asked_at if step < 40]) < 20


def test_a_training_that_goes_on_does_not_become_random_again() -> None:
    reporter = RememberingReporter()
    learner, _ = watch(replace(SMALL, end_e=0.0), reporter, planned=40)
    assert [step for step in learner.asked_at if step >= 20] == list(range(20, 160))
    assert any("40 steps" in note and "160" in note for note in reporter.notes)


def test_a_resumed_training_ends_with_the_same_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_points(monkeypatch)
    arguments = replace(SMALL, checkpoint_interval=20, tau=0.7)
    whole, resumed = whole_and_resumed_weights(
        arguments, lambda session: dqn.train(arguments, session), tmp_path, resume_at=100
    )
    assert weight_hash(whole) == weight_hash(resumed)


def test_a_training_from_frames_resumes_exactly_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "cleanrl_worker.kit.session.make_env_batch",
        lambda _, num_envs, **__: BlinkingFrames(num_envs),
    )
    arguments = replace(
        SMALL, total_timesteps=16, learning_starts=4, batch_size=2, checkpoint_interval=4
    )
    whole, resumed = whole_and_resumed_weights(
        arguments, lambda session: dqn.train(arguments, session), tmp_path, resume_at=8
    )
    assert weight_hash(whole) == weight_hash(resumed)


def test_frames_are_replayed_from_a_buffer_that_holds_each_once() -> None:
    buffer = dqn.make_replay_buffer(SMALL, BlinkingFrames(1))
    assert isinstance(buffer, FrameReplayBuffer)


def test_the_file_names_its_weights_as_cleanrl_does() -> None:
    flat = {name: tuple(value.shape) for name, value in QNetwork((4,), 2).state_dict().items()}
    assert flat == {
        "network.0.weight": (120, 4),
        "network.0.bias": (120,),
        "network.2.weight": (84, 120),
        "network.2.bias": (84,),
        "network.4.weight": (2, 84),
        "network.4.bias": (2,),
    }
    frames = QNetwork((4, 84, 84), 6).state_dict()
    assert [name for name in frames if "weight" in name] == [
        f"network.{index}.weight" for index in (0, 2, 4, 7, 9)
    ]
    assert frames["network.9.weight"].shape == (6, 512)


def test_frames_are_scaled_to_one() -> None:
    network = QNetwork((4, 84, 84), 2)
    white = torch.full((1, 4, 84, 84), 255, dtype=torch.uint8)
    torch.testing.assert_close(network(white), network.network(torch.ones(1, 4, 84, 84)))


def test_observations_without_a_network_are_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        QNetwork((3, 4), 2)
    assert refused.value.details["field"] == "env_id"


def test_actions_that_cannot_be_counted_are_refused() -> None:
    envs = DriftingPoints()
    with pytest.raises(ConfigError):
        train_on(envs, dqn.train, SMALL, seeded_session(SMALL))
    assert envs.is_closed


def test_a_training_that_diverges_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    use_points(monkeypatch)
    arguments = replace(SMALL, learning_rate=1e30)
    with pytest.raises(TrainingDivergedError):
        dqn.train(arguments, seeded_session(arguments))


def test_cartpole_is_learnt() -> None:
    arguments = DQNArguments(env_id="CartPole-v1", total_timesteps=25_000)
    session = seeded_session(arguments)
    dqn.train(arguments, session)
    assert np.mean(session.recent_returns) > 60.0
