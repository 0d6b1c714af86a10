"""What the tests of batches share: random actions, equal steps, states that went through a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cleanrl_worker.environments.batch import EnvBatch, Step


def random_actions(envs: EnvBatch, seed: int = 0) -> Callable[[], NDArray[Any]]:
    random = np.random.default_rng(seed)
    space = envs.action_space
    if isinstance(space, spaces.Discrete):
        return lambda: random.integers(space.n, size=envs.num_envs)
    shape = (envs.num_envs, *(space.shape or ()))
    return lambda: random.uniform(-1.0, 1.0, size=shape).astype(np.float32)


def assert_same_step(got: Step, wanted: Step) -> None:
    for name in ("observations", "rewards", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name), name)
    assert got.finals.keys() == wanted.finals.keys()
    for index, final in wanted.finals.items():
        np.testing.assert_array_equal(got.finals[index], final)
    assert got.episodes == wanted.episodes


def through_a_file(state: Any) -> Any:
    """What a checkpoint gives back: arrays as new arrays, everything else as JSON has it."""
    if isinstance(state, dict):
        assert all(isinstance(key, str) for key in state)
        return {key: through_a_file(value) for key, value in state.items()}
    if isinstance(state, list):
        return [through_a_file(value) for value in state]
    if isinstance(state, np.ndarray):
        return np.frombuffer(state.tobytes(), state.dtype).reshape(state.shape)  # read-only, too
    assert state is None or type(state) in (bool, int, float, str), type(state)
    return json.loads(json.dumps(state))
