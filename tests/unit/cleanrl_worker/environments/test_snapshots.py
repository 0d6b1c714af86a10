"""A batch saved, put through a file and loaded into a fresh one goes on bit for bit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from cleanrl_worker.environments.batch import EXACT, UP_TO_RESET
from cleanrl_worker.environments.loop_batch import LoopBatch
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.environments.snapshots import set_random_state
from tests.unit.cleanrl_worker.environments.batch_comparison import (
    assert_same_step,
    random_actions,
    through_a_file,
)

SHORT = {"max_episode_steps": 100}
MUJOCO = [
    "Ant",
    "HalfCheetah",
    "Hopper",
    "Humanoid",
    "HumanoidStandup",
    "InvertedDoublePendulum",
    "InvertedPendulum",
    "Pusher",
    "Reacher",
    "Swimmer",
    "Walker2d",
]
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "CartPole-v1": ({}, 130),
    "Pendulum-v1": ({}, 230),
    "FrozenLake-v1": ({}, 47),
    "Taxi-v4": ({}, 230),
    "Blackjack-v1": ({}, 45),
    "CliffWalking-v1": (SHORT, 130),
    "LunarLander-v3": ({}, 250),
    "BipedalWalker-v3": ({}, 500),
    "BreakoutNoFrameskip-v4": ({}, 150),
    "ALE/Seaquest-v5": ({"repeat_action_probability": 0.25}, 150),
    "MiniGrid-DoorKey-5x5-v0": (SHORT, 120),
    "MiniGrid-Dynamic-Obstacles-6x6-v0": ({}, 60),
    "BabyAI-GoToLocal-v0": (SHORT, 120),
    "BabyAI-BossLevel-v0": (SHORT, 120),
    "dm_control/cartpole-swingup-v0": (SHORT, 120),
    "dm_control/reacher-easy-v0": (SHORT, 120),
    **{f"{name}-v5": (SHORT, 130) for name in MUJOCO},
    **{f"{name}-v4": (SHORT, 130) for name in MUJOCO if name != "Pusher"},
}


@pytest.mark.parametrize("env_id", CASES)
def test_goes_on_exactly_in_a_fresh_batch(env_id: str) -> None:
    env_kwargs, before = CASES[env_id]
    num_envs = 1 if "NoFrameskip" in env_id or "ALE/" in env_id else 2
    envs, resumed = (
        make_env_batch(env_id, num_envs, env_kwargs=env_kwargs, vectorization="loop")
        for _ in range(2)
    )
    envs.reset(5)
    draw = random_actions(envs)
    for _ in range(before):
        envs.step(draw())
    resumed.reset(99)  # as a resumed training does before it takes its state back
    resumed.load_state_dict(through_a_file(envs.state_dict()))
    assert resumed.exactness == EXACT
    np.testing.assert_array_equal(resumed.observations, envs.observations)
    ends = 0
    for count in range(300):
        if count == 20:  # a state taken soon after loading is as good
            state = through_a_file(resumed.state_dict())
            resumed.load_state_dict(state)
        actions = draw()
        step = envs.step(actions)
        assert_same_step(resumed.step(actions), step)
        ends += len(step.finals)
    assert ends
    envs.close()
    resumed.close()


class Moody(gymnasium.Env[Any, Any]):
    """Keeps something from episode to episode, which no snapshot can know."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        self.episodes = 0
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.episodes += 1
        self.steps = 0
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self._observation(), 1.0, self.steps >= 10, False, {}

    def _observation(self) -> Any:
        return np.array([self.episodes + self.np_random.random()], np.float32)


def test_what_cannot_be_repeated_starts_a_new_episode_and_says_so() -> None:
    envs, resumed = LoopBatch([Moody()]), LoopBatch([Moody()])
    envs.reset(0)
    for _ in range(15):
        envs.step(np.array([0]))
    assert envs.exactness == EXACT  # as far as anybody knows
    resumed.load_state_dict(through_a_file(envs.state_dict()))
    assert resumed.exactness == UP_TO_RESET
    lengths = [len(resumed.step(np.array([0])).episodes) for _ in range(10)]
    assert lengths == [0] * 9 + [1]


def test_an_endless_episode_is_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cleanrl_worker.environments.snapshots.LONGEST_REPLAY", 50)
    envs, resumed = (make_env_batch("CliffWalking-v1", 1) for _ in range(2))
    envs.reset(0)
    for _ in range(60):
        envs.step(np.array([0]))
    resumed.load_state_dict(through_a_file(envs.state_dict()))
    assert resumed.exactness == UP_TO_RESET


@pytest.mark.parametrize("env_id", ["BreakoutNoFrameskip-v4", "HalfCheetah-v5", "FrozenLake-v1"])
def test_a_state_that_does_not_fit_starts_a_new_episode(env_id: str) -> None:
    envs, other = make_env_batch(env_id, 1), make_env_batch("Hopper-v5", 1)
    envs.reset(0)
    other.reset(0)
    state = envs.state_dict()
    snapshot = state["environments"][0]["snapshot"]
    for name in ("core", "beginning"):
        if name in snapshot:
            snapshot[name] = {
                "emulator": np.arange(9, dtype=np.uint8),
                **other.state_dict()["environments"][0]["snapshot"]["core"],
            }
    envs.load_state_dict(state)
    assert envs.exactness == UP_TO_RESET
    envs.step(random_actions(envs)())
    envs.close()
    other.close()


def test_an_episode_depends_on_its_beginning_only() -> None:
    """BipedalWalker's world would otherwise remember the episodes before."""
    envs, fresh = (make_env_batch("BipedalWalker-v3", 1) for _ in range(2))
    envs.reset(0)
    draw = random_actions(envs)
    for _ in range(300):
        envs.step(draw())
    np.testing.assert_array_equal(envs.reset(7), fresh.reset(7))
    for _ in range(300):
        actions = draw()
        assert_same_step(envs.step(actions), fresh.step(actions))


def test_nothing_is_written_where_the_tests_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    envs = make_env_batch("Humanoid-v4", 1)
    envs.reset(0)
    envs.load_state_dict(envs.state_dict())
    envs.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("env_id", ["BreakoutNoFrameskip-v4", "HalfCheetah-v5", "LunarLander-v3"])
def test_a_state_that_was_made_up_reaches_no_engine(env_id: str) -> None:
    envs = make_env_batch(env_id, 1)
    envs.reset(0)
    envs.step(random_actions(envs)())
    for path, value in MADE_UP:
        state = through_a_file(envs.state_dict())
        snapshot = state["environments"][0]["snapshot"]
        *way, name = path.split("/")
        place = snapshot
        for part in way:
            place = place.get(part, {})
        if name not in place:
            continue
        place[name] = value
        envs.load_state_dict(state)
        assert envs.exactness == UP_TO_RESET, path
        envs.step(random_actions(envs)())
    envs.close()


MADE_UP: list[tuple[str, Any]] = [
    ("core/emulator", np.zeros(2**20, np.uint8)),
    ("core/emulator", "text"),
    ("core/state", np.array(["text"] * 3)),
    ("core/state", np.zeros((2, 2))),
    ("core/derived", {"qpos": 7, "qvel": "text"} | {"xpos": None}),
    ("core", None),
    ("core/drawn", 3),
    ("actions", np.array([10**9])),
    ("actions", np.array([np.nan])),
    ("actions", np.zeros((3, 2, 1))),
    ("actions", [1, 2]),
    ("actions", np.zeros(200_000, np.int64)),
    ("random/state", {"state": -1, "inc": 10**60}),
    ("random/state", {"key": [1] * 624, "pos": 10**9}),
    ("random", []),
]


@pytest.mark.parametrize("place", [-1, 625, 10**9, "0", None])
def test_random_numbers_are_not_read_beyond_their_end(place: Any) -> None:
    state = np.random.RandomState(1).get_state(legacy=False)
    env = SimpleNamespace(unwrapped=SimpleNamespace(np_random=np.random.RandomState(2)))
    set_random_state(env, {**state, "state": {**state["state"], "pos": 624}})
    with pytest.raises(ValueError, match="random numbers"):
        set_random_state(env, {**state, "state": {**state["state"], "pos": place}})
