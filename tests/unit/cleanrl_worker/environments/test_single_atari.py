"""The Atari pre-processing against the wrappers everybody else's results were made with."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest

from cleanrl_worker.environments.single import make_single
from mosaic.errors import ConfigError


def reference(env_id: str) -> gymnasium.Env[Any, Any]:
    """Stable-Baselines3's wrappers in the order CleanRL stacks them."""
    from stable_baselines3.common import atari_wrappers as sb3

    make_single(env_id).close()  # registers the games
    spec = copy.copy(gymnasium.registry[env_id])
    env: Any = gymnasium.make(spec, obs_type="grayscale", disable_env_checker=True)
    env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    env = sb3.MaxAndSkipEnv(sb3.NoopResetEnv(env, 30), 4)
    env = sb3.EpisodicLifeEnv(env)
    if "FIRE" in env.unwrapped.get_action_meanings():
        env = sb3.FireResetEnv(env)
    env = gymnasium.wrappers.ResizeObservation(sb3.ClipRewardEnv(env), (84, 84))
    return gymnasium.wrappers.FrameStackObservation(env, 4)


@pytest.mark.parametrize("env_id", ["BreakoutNoFrameskip-v4", "QbertNoFrameskip-v4"])
def test_equals_the_usual_wrappers_step_by_step(env_id: str) -> None:
    theirs, ours = reference(env_id), make_single(env_id)
    actions = np.random.default_rng(0)
    np.testing.assert_array_equal(ours.reset(seed=7)[0], theirs.reset(seed=7)[0])
    games = lives = 0
    while games < 1:
        action = actions.integers(ours.action_space.n)  # type: ignore[attr-defined]
        expected, got = theirs.step(action), ours.step(action)
        assert got[1:4] == expected[1:4]
        assert ("episode" in got[4]) == ("episode" in expected[4])
        if "episode" in got[4]:
            games += 1
            episode = expected[4]["episode"]
            assert got[4]["episode"] == {"r": episode["r"], "l": episode["l"]}
        else:  # theirs shows an older screen when the game is over
            np.testing.assert_array_equal(got[0], expected[0])
        if got[2] or got[3]:
            lives += 1
            np.testing.assert_array_equal(ours.reset()[0], theirs.reset()[0])
    assert lives > 3


def test_evaluation_plays_whole_games_for_the_real_score() -> None:
    env = make_single("BreakoutNoFrameskip-v4", training=False)
    actions = np.random.default_rng(1)
    env.reset(seed=3)
    total, steps, terminated = 0.0, 0, False
    while not terminated:
        _, reward, terminated, _, info = env.step(int(actions.integers(4)))
        total, steps = total + float(reward), steps + 1
    assert info["episode"]["r"] == total
    assert info["episode"]["l"] > 4 * steps  # raw frames, with those between two lives
    ale = env.get_wrapper_attr("ale")
    assert ale.lives() == 0
    env.reset()
    assert ale.lives() == 5


def test_goes_on_exactly_after_a_snapshot() -> None:
    env: Any = make_single("BreakoutNoFrameskip-v4")
    env.reset(seed=1)
    for _ in range(30):
        env.step(1)
    emulator = env.unwrapped.ale.cloneState(include_rng=True)
    own = env.snapshot_state()
    expected = [env.step(2) for _ in range(10)]
    env.reset(seed=99)
    env.unwrapped.ale.restoreState(emulator)
    env.restore_state(own)
    for then in expected:
        now = env.step(2)
        np.testing.assert_array_equal(now[0], then[0])
        assert now[1:] == then[1:]


def test_observations_may_be_kept() -> None:
    env = make_single("ALE/Pong-v5")
    kept, _ = env.reset(seed=1)
    copied = kept.copy()
    for _ in range(5):
        env.step(2)
    np.testing.assert_array_equal(kept, copied)


@pytest.mark.parametrize(
    ("env_id", "arguments", "probability"),
    [
        ("ALE/Pong-v5", {}, 0.0),
        ("ALE/Pong-v5", {"repeat_action_probability": 0.25}, 0.25),
        ("PongNoFrameskip-v4", {}, 0.0),
        ("PongNoFrameskip-v0", {}, 0.25),
    ],
)
def test_sticky_actions_only_on_request(
    env_id: str, arguments: dict[str, Any], probability: float
) -> None:
    env: Any = make_single(env_id, env_kwargs=arguments)
    assert env.unwrapped.ale.getFloat("repeat_action_probability") == probability


def test_frame_skip_frame_stack_and_limit_can_be_chosen() -> None:
    env: Any = make_single(
        "ALE/Pong-v5", frame_stack=1, env_kwargs={"frameskip": 2, "max_episode_steps": 40}
    )
    observation, _ = env.reset(seed=1)
    assert observation.shape == (1, 84, 84)
    before = env.unwrapped.ale.getEpisodeFrameNumber()
    env.step(0)
    assert env.unwrapped.ale.getEpisodeFrameNumber() == before + 2
    truncated = False
    while not truncated:
        _, _, terminated, truncated, info = env.step(0)
        assert not terminated
    assert info["episode"]["l"] == 80


@pytest.mark.parametrize(
    "arguments",
    [{"obs_type": "ram"}, {"continuous": True}, {"frameskip": 0}, {"frameskip": [2, 5]}],
    ids=str,
)
def test_arguments_that_break_the_pre_processing_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        make_single("ALE/Pong-v5", env_kwargs=arguments)
    assert caught.value.details["field"] == f"env_kwargs.{next(iter(arguments))}"
