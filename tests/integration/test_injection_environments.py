"""Environments however they are written, and what their episodes are for: real libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.injection_stage import Stage

# Nothing here calls a `reset` above it.
OWN = """
import sys
import gymnasium as gym
import numpy as np

class Corridor(gym.Env):
    observation_space = gym.spaces.Box(0, 9, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.place = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.place += 1
        return np.zeros(1, np.float32), 1.0, self.place >= 8, False, {}

class Bare:
    metadata, spec, render_mode = {}, None, None
    observation_space, action_space = Corridor.observation_space, Corridor.action_space
    reset, step = Corridor.reset, Corridor.step

    @property
    def unwrapped(self):
        return self

    def get_wrapper_attr(self, name):
        return getattr(self, name)

    def close(self):
        pass

def play(envs, steps):
    envs.reset()
    for _ in range(steps):
        envs.step(envs.action_space.sample())
"""

VECTORS = {
    "bare classes side by side": """
play(gym.vector.SyncVectorEnv([Bare] * 2), 18)
""",
    "bare classes in processes": """
if __name__ == "__main__":
    envs = gym.vector.AsyncVectorEnv([Bare] * 2)
    play(envs, 18)
    envs.close()
""",
    "a vector of one's own": """
class Vector(gym.vector.VectorEnv):
    num_envs = 2
    single_action_space, action_space = Corridor.action_space, gym.spaces.MultiDiscrete([2, 2])
    metadata = {"autoreset_mode": gym.vector.AutoresetMode.NEXT_STEP}

    def reset(self, *, seed=None, options=None):
        self.places = np.zeros(2)
        return self.places, {}

    def step(self, actions):
        self.places = np.where(self.places >= 8, 0, self.places + 1)
        rewards = (self.places > 0).astype(float)
        return self.places, rewards, self.places >= 8, np.zeros(2, bool), {}

play(Vector(), 18)
""",
    "a vector of one's own with environments": """
class Vector(gym.vector.VectorEnv):
    num_envs = 2
    action_space = gym.spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        self.envs = [Corridor(), Corridor()]
        self.over = [env.reset() and False for env in self.envs]
        return None, {}

    def step(self, actions):
        for number, env in enumerate(self.envs):
            if self.over[number]:
                env.reset()
                self.over[number] = False
            else:
                self.over[number] = env.step(0)[2]
        return None, np.ones(2), np.array(self.over), np.zeros(2, bool), {}

play(Vector(), 18)
""",
    "a vector of Stable-Baselines3's kind": """
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

class Vector(VecEnv):
    def __init__(self):
        super().__init__(2, Corridor.observation_space, Corridor.action_space)

    def reset(self):
        self.places = np.zeros(2)
        return self.places

    def step_async(self, actions):
        pass

    def step_wait(self):
        self.places += 1
        over = self.places >= 8
        self.places[over] = 0
        return self.places, np.ones(2), over, [{"TimeLimit.truncated": bool(o)} for o in over]

    def close(self): pass
    def get_attr(self, name, indices=None): return [None] * 2
    def set_attr(self, name, value, indices=None): pass
    def env_method(self, name, *args, indices=None, **kwargs): raise NotImplementedError
    def env_is_wrapped(self, kind, indices=None): return [False] * 2

play(VecMonitor(Vector()), 16)
""",
}

# A class of the script itself travels by value to the processes, after it was used here.
BY_VALUE = """
from stable_baselines3.common.vec_env import SubprocVecEnv
if __name__ == "__main__":
    env = Corridor()
    env.reset()
    env.step(0)
    envs = SubprocVecEnv([Corridor] * 2, start_method="spawn")
    envs.reset()
    for _ in range(16):
        envs.step([0, 0])
    envs.close()
"""

EVALUATION = """
import sys
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

if __name__ == "__main__":
    kind = {"DummyVecEnv": DummyVecEnv, "SubprocVecEnv": SubprocVecEnv}[sys.argv[1]]
    env, eval_env = (make_vec_env("CartPole-v1", 2, seed=1, vec_env_cls=kind) for _ in range(2))
    model = PPO("MlpPolicy", env, n_steps=64, n_epochs=1, seed=1, device="cpu")
    found, _ = evaluate_policy(model, eval_env, 3, return_episode_rewards=True)
    after = EvalCallback(eval_env, eval_freq=64, n_eval_episodes=2, log_path=".")
    after.verbose = 0
    model.learn(256, callback=after)
    print(model.num_timesteps, len(found) + sum(map(len, after.evaluations_results)))
    env.close()
    eval_env.close()
"""

OWN_EVALUATION = """
import gymnasium as gym

def play(env):
    env.reset(seed=1)
    while not env.step(0)[2]:
        pass

def evaluate(env):
    play(env)

env, other, test_env = (gym.make("CartPole-v1") for _ in range(3))
for _ in range(3):
    play(env)
    evaluate(other)
    test_env.reset(seed=1)
    while not test_env.step(0)[2]:
        pass
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_an_environment_that_calls_nothing_above_it_is_seen(stage: Stage) -> None:
    outcome = stage.watched(OWN + "env = Corridor()\nfor _ in range(40):\n    play(env, 8)")
    assert (outcome.steps, outcome.episodes) == (320, 40)
    assert "failed" not in outcome.errors


@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_are_counted_once_whatever_is_in_them(stage: Stage, kind: str) -> None:
    outcome = stage.watched(OWN + VECTORS[kind])
    assert (outcome.steps, outcome.episodes) == (32, 4)
    assert {episode["total_reward"] for episode in outcome.of_kind("episode")} == {8.0}
    assert "failed" not in outcome.errors


def test_a_class_that_is_sent_to_other_processes_is_counted_once(stage: Stage) -> None:
    outcome = stage.watched(OWN + BY_VALUE)
    assert (outcome.steps, outcome.episodes) == (33, 4)
    assert {episode["total_reward"] for episode in outcome.of_kind("episode")} == {8.0}
    assert "failed" not in outcome.errors


@pytest.mark.parametrize("kind", ["DummyVecEnv", "SubprocVecEnv"])
def test_evaluation_by_stable_baselines_is_no_training(stage: Stage, kind: str) -> None:
    outcome = stage.watched(EVALUATION, kind)
    steps, evaluated = map(int, outcome.output.split())
    assert outcome.steps == steps == 256
    evaluations = [each for each in outcome.of_kind("episode") if each["is_evaluation"]]
    # Its vectors go on with the one while they wait for the other.
    assert evaluated <= len(evaluations) <= 2 * evaluated
    trained = [each for each in outcome.of_kind("episode") if not each["is_evaluation"]]
    assert 0 < sum(each["length"] for each in trained) <= steps
    assert "failed" not in outcome.errors


def test_a_scripts_own_evaluation_is_no_training(stage: Stage) -> None:
    outcome = stage.watched(OWN_EVALUATION)
    episodes = outcome.of_kind("episode")
    assert [each["is_evaluation"] for each in episodes] == [False, True, True] * 3
    assert outcome.steps == sum(each["length"] for each in episodes if not each["is_evaluation"])
