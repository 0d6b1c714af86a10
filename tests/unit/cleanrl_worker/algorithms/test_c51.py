"""C51: its file, its resume, its bounds, and that it learns CartPole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cleanrl_worker.agents.q_networks import C51Network
from cleanrl_worker.algorithms import c51
from cleanrl_worker.algorithms.c51 import C51Arguments
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.session import TrainingDivergedError
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import BlinkingFrames, use_points
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    RememberingReporter,
    seeded_session,
    whole_and_resumed_weights,
)

SMALL = C51Arguments(
    total_timesteps=160,
    buffer_size=64,
    batch_size=8,
    learning_starts=40,
    train_frequency=4,
    target_network_frequency=20,
    n_atoms=11,
    checkpoint_interval=20,
)


def test_a_resumed_training_ends_with_the_same_weights_in_cleanrls_layout(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_points(monkeypatch)
    whole, resumed = whole_and_resumed_weights(
        SMALL, lambda session: c51.train(SMALL, session), tmp_path, resume_at=100
    )
    assert weight_hash(whole) == weight_hash(resumed)
    assert whole["args"]["n_atoms"] == 11
    assert list(whole["model_weights"]) == ["atoms"] + [
        f"network.{index}.{kind}" for index in (0, 2, 4) for kind in ("weight", "bias")
    ]
    assert whole["model_weights"]["network.4.weight"].shape == (33, 84)


def test_frames_train_by_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cleanrl_worker.kit.session.make_env_batch",
        lambda _, num_envs, **__: BlinkingFrames(num_envs),
    )
    arguments = replace(SMALL, total_timesteps=16, learning_starts=8, batch_size=2)
    session = seeded_session(arguments)
    c51.train(arguments, session)
    assert session.global_step == 16


def test_the_loss_has_cleanrls_name(monkeypatch: pytest.MonkeyPatch) -> None:
    use_points(monkeypatch)
    reporter = RememberingReporter()
    c51.train(SMALL, seeded_session(SMALL, reporter))
    assert {"losses/loss", "losses/q_values", "charts/epsilon"} <= reporter.metrics.keys()


def test_the_value_of_an_action_is_the_mean_of_its_distribution() -> None:
    network = C51Network((4,), 2, n_atoms=5, v_min=-2.0, v_max=2.0)
    observations = torch.randn(3, 4)
    distributions = network.distributions(observations)
    torch.testing.assert_close(distributions.sum(2), torch.ones(3, 2))
    means = (distributions * torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])).sum(2)
    torch.testing.assert_close(network(observations), means)


def test_an_empty_range_of_returns_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        C51Arguments(v_min=3.0, v_max=3.0)
    assert refused.value.details["field"] == "v_max"


def test_a_training_that_diverges_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    use_points(monkeypatch)
    arguments = replace(SMALL, learning_rate=1e30)
    with pytest.raises(TrainingDivergedError):
        c51.train(arguments, seeded_session(arguments))


def test_cartpole_is_learnt() -> None:
    arguments = C51Arguments(env_id="CartPole-v1", total_timesteps=25_000)
    session = seeded_session(arguments)
    c51.train(arguments, session)
    assert np.mean(session.recent_returns) > 40.0
