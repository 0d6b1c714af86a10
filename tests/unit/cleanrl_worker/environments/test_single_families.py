"""Every family really runs: right spaces, quiet, and the same again with the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import flatten

from cleanrl_worker.environments import family_imports
from cleanrl_worker.environments.single import make_single

SAMPLES = {
    "FrozenLake-v1": ((16,), "float32"),
    "Blackjack-v1": ((45,), "float32"),
    "Taxi-v4": ((500,), "float32"),
    "CartPole-v1": ((4,), "float32"),
    "Pendulum-v1": ((3,), "float32"),
    "LunarLander-v3": ((8,), "float32"),
    "BipedalWalker-v3": ((24,), "float32"),
    "Hopper-v4": ((11,), "float32"),
    "HalfCheetah-v5": ((17,), "float32"),
    "BreakoutNoFrameskip-v4": ((4, 84, 84), "uint8"),
    "ALE/Pong-v5": ((4, 84, 84), "uint8"),
    "MiniGrid-DoorKey-5x5-v0": ((7, 7, 3), "uint8"),
    "BabyAI-GoToLocal-v0": ((7, 7, 3), "uint8"),
    "dm_control/cheetah-run-v0": ((17,), "float32"),
    "dm_control/lqr-lqr_2_1-v0": ((4,), "float32"),
}


def steps_of(env: gymnasium.Env[Any, Any], count: int, seed: int = 5) -> Iterator[tuple[Any, ...]]:
    """Observation, reward and flags of a policy that is random but the same each time."""
    actions = np.random.default_rng(seed)
    space = env.action_space
    observation, _ = env.reset(seed=seed)
    yield (observation, 0.0, False, False)
    for _ in range(count):
        if isinstance(space, gymnasium.spaces.Discrete):
            action: Any = int(actions.integers(space.n))
        else:
            action = actions.uniform(-1.0, 1.0, space.shape).astype(np.float32)
        observation, reward, terminated, truncated, _ = env.step(action)
        yield (observation, float(reward), bool(terminated), bool(truncated))
        if terminated or truncated:
            observation, _ = env.reset()
            yield (observation, 0.0, False, False)


@pytest.mark.parametrize("env_id", SAMPLES)
def test_runs_with_its_spaces_and_repeats_itself(env_id: str) -> None:
    first, second = make_single(env_id), make_single(env_id)
    try:
        shape, dtype = SAMPLES[env_id]
        assert first.observation_space.shape == shape
        assert first.observation_space.dtype == dtype
        for once, again in zip(steps_of(first, 50), steps_of(second, 50), strict=True):
            assert first.observation_space.contains(once[0])
            np.testing.assert_array_equal(once[0], again[0])
            assert once[1:] == again[1:]
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize("env_id", ["Blackjack-v1", "dm_control/cheetah-run-v0"])
def test_structured_observations_are_flattened_as_gymnasium_would(env_id: str) -> None:
    env = make_single(env_id)
    raw_space = env.unwrapped.observation_space
    raw, _ = env.unwrapped.reset(seed=3)
    expected = np.asarray(flatten(raw_space, raw), np.float32)
    observation, _ = env.reset(seed=3)
    np.testing.assert_array_equal(observation, expected)
    env.close()


def test_discrete_observations_are_one_hot_and_cannot_be_spoilt() -> None:
    env = make_single("FrozenLake-v1")
    observation, _ = env.reset(seed=1)
    assert observation.tolist() == [1.0] + [0.0] * 15
    with pytest.raises(ValueError, match="read-only"):
        observation[0] = 7.0


def test_grid_worlds_show_their_image_only() -> None:
    env = make_single("MiniGrid-Empty-8x8-v0")
    observation, _ = env.reset(seed=1)
    np.testing.assert_array_equal(observation, env.get_wrapper_attr("gen_obs")()["image"])


def test_large_pictures_become_a_stack_of_grey_frames() -> None:
    env = make_single("CarRacing-v3", frame_stack=2, env_kwargs={"continuous": False})
    first, _ = env.reset(seed=1)
    assert env.observation_space.shape == first.shape == (2, 84, 84)
    np.testing.assert_array_equal(first[0], first[1])
    second = env.step(3)[0]
    np.testing.assert_array_equal(second[0], first[1])
    assert first.std() > 0
    env.close()


def test_libraries_neither_write_files_nor_chatter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for env_id in ("HalfCheetah-v4", "dm_control/cheetah-run-v0", "ALE/Pong-v5"):
        env = make_single(env_id)
        env.reset(seed=1)
        env.close()
    env = make_single("BabyAI-PutNextS4N1-v0")  # it rejects many of the levels it draws
    for seed in range(20):
        env.reset(seed=seed)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_unstable_physics_is_reported_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family_imports, "_seen_physics_warnings", set())
    env = make_single("InvertedPendulum-v5")
    physics: Any = env.unwrapped
    for _ in range(2):
        env.reset(seed=1)
        physics.data.qvel[:] = 1e12
        env.step(np.zeros(1, np.float32))
    assert len([record for record in caplog.records if "unstable" in record.getMessage()]) == 1
