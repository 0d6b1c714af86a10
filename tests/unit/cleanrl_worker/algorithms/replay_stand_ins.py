"""Stand-ins for trainings by replay: a small environment and a reporter that remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.environments.batch import Array, EnvBatch, Episode, Step
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from cleanrl_worker.kit.replay_buffers import Batch
from cleanrl_worker.kit.seeding import seed_everything
from cleanrl_worker.kit.session import Session

EPISODE_LIMIT = 7
FAR = 1.0
LOW, HIGH = -2.0, 3.0

# Batches of 16 gain nothing from a second thread, and on a busy machine they wait for it.
torch.set_num_threads(1)


class DriftingPoints(EnvBatch):
    """A point per environment, pushed by its action: ends beyond FAR, is cut at EPISODE_LIMIT."""

    vectorization = "loop"

    def __init__(
        self, num_envs: int = 1, push: float = 0.2, action_space: gymnasium.Space[Any] | None = None
    ) -> None:
        self.num_envs = num_envs
        self.push = push
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = action_space or gymnasium.spaces.Box(LOW, HIGH, (2,), np.float32)
        self.observations = np.zeros((num_envs, 3))
        self.taken: list[tuple[Array, Array, Step]] = []
        self.is_closed = False
        self._ages = np.zeros(num_envs, np.int64)

    def reset(self, seed: int) -> Array:
        self._rng = np.random.default_rng(seed)
        self._ages[:] = 0
        self.observations = self._starts(self.num_envs)
        return self.observations

    def step(self, actions: Array) -> Step:
        before = self.observations
        shift = np.asarray(actions, float).reshape(self.num_envs, -1).mean(1, keepdims=True)
        if isinstance(self.action_space, gymnasium.spaces.Discrete):
            shift -= (int(self.action_space.n) - 1) / 2
        observations = before + self.push * shift * [1.0, 0.5, 0.25]
        rewards = (-np.abs(observations[:, 0])).astype(np.float32)
        self._ages += 1
        terminated = np.abs(observations[:, 0]) > FAR
        truncated = (self._ages >= EPISODE_LIMIT) & ~terminated
        finals, episodes = {}, []
        for index in np.flatnonzero(terminated | truncated).tolist():
            finals[index] = observations[index].copy()
            length, is_end = int(self._ages[index]), bool(terminated[index])
            episodes.append(Episode(index, float(rewards[index]), length, is_end, not is_end))
            observations[index] = self._starts(1)[0]
            self._ages[index] = 0
        self.observations = observations
        step = Step(observations, rewards, terminated, truncated, finals, episodes)
        self.taken.append((before, np.array(actions), step))
        return step

    def _starts(self, count: int) -> Array:
        return self._rng.uniform(-0.5, 0.5, (count, 3))

    def state_dict(self) -> dict[str, Any]:
        return {
            "observations": self.observations,
            "ages": self._ages,
            "rng": self._rng.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.observations = np.array(state["observations"])
        self._ages[:] = state["ages"]
        self._rng.bit_generator.state = state["rng"]

    def close(self) -> None:
        self.is_closed = True

    def mean_reward(self, steps: slice) -> float:
        return float(np.mean([step.rewards for _, _, step in self.taken[steps]]))


class RememberingReporter:
    def __init__(self) -> None:
        self.metrics: dict[str, list[tuple[int, float]]] = {}
        self.notes: list[str] = []

    def metric(self, name: str, value: float, step: int) -> None:
        self.metrics.setdefault(name, []).append((step, value))

    def episode(self, **facts: Any) -> None: ...

    def progress(self, *, steps: int, total_steps: int | None = None) -> None: ...

    def should_stop(self) -> bool:
        return False

    def flush(self) -> None: ...

    def checkpoint_saved(self, *facts: Any, **more: Any) -> None: ...

    def checkpoint_loaded(self, path: Path, step: int) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)


def train_on(
    envs: EnvBatch, train: Callable[[Any, Session], None], arguments: Any, session: Session
) -> None:
    """Let an algorithm train on these environments, whatever its arguments ask for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cleanrl_worker.kit.session.make_env_batch", lambda *_, **__: envs)
        train(arguments, session)


def seeded_session(
    arguments: Arguments, reporter: RememberingReporter | None = None, **more: Any
) -> Session:
    seed_everything(arguments.seed, deterministic=True)
    return Session(arguments, torch.device("cpu"), reporter or RememberingReporter(), **more)


def whole_and_resumed_weights(
    arguments: Arguments, run: Callable[[Session], Any], folder: Path, resume_at: int
) -> tuple[Any, Any]:
    """What a training ends with, and what it ends with when resumed from a checkpoint of it."""
    whole, resumed = folder / "whole", folder / "resumed"
    run(seeded_session(arguments, store=CheckpointStore(whole, "test", keep=100)))
    final, halfway = load_checkpoint(whole), load_checkpoint(whole, resume_at)
    assert (halfway.step, final.step) == (resume_at, arguments.total_timesteps)
    run(seeded_session(arguments, store=CheckpointStore(resumed, "test"), checkpoint=halfway))
    return final.weights, load_checkpoint(resumed).weights


def random_batch(batch_size: int, seed: int) -> Batch:
    """Transitions of DriftingPoints' shapes; some of them terminate."""
    rng = np.random.default_rng(seed)
    return Batch(
        rng.normal(size=(batch_size, 3)).astype(np.float32),
        rng.normal(size=(batch_size, 3)).astype(np.float32),
        rng.uniform(LOW, HIGH, (batch_size, 2)).astype(np.float32),
        rng.normal(size=batch_size).astype(np.float32),
        (rng.random(batch_size) < 0.3).astype(np.float32),
    )


def assert_same_weights(ours: nn.Module, expected: nn.Module, tolerance: float = 1e-5) -> None:
    for (name, value), other in zip(ours.named_parameters(), expected.parameters(), strict=True):
        difference = (value - other).abs().max().item()
        assert difference <= tolerance, f"{name} differs by {difference}"
