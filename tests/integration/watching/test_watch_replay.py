"""Episodes of scripts that know nothing of MOSAIC, played again from what was recorded of them."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from mosaic.replay.simulation import Simulation, verify
from tests.integration.watching.watch_harness import Watcher

EXAMPLES = Path(__file__).parents[3] / "examples" / "watch"

# Several environments in one process, seeded and not, with all kinds of actions, and one that is
# wrapped: what the wrapped one gets is what counts.
ZOO = """
import gymnasium
import numpy as np

rng = np.random.default_rng(0)
IDS = ("CartPole-v1", "MountainCar-v0", "Pendulum-v1", "FrozenLake-v1", "Taxi-v4", "Acrobot-v1")
for name in [each for each in IDS if each in gymnasium.registry]:
    env = gymnasium.make(name, max_episode_steps=60)
    if name == "Pendulum-v1":
        env = gymnasium.wrappers.RescaleAction(env, -1.0, 1.0)
    env.action_space.seed(1)
    for episode in range(4):
        env.reset(seed=7 if episode == 0 else None)
        over = False
        while not over:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            over = terminated or truncated
"""

SUBPROCESSES = """
import hashlib
import sys
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv

if __name__ == "__main__":
    envs = make_vec_env("CartPole-v1", 2, seed=3, vec_env_cls=SubprocVecEnv)
    model = PPO("MlpPolicy", envs, n_steps=128, batch_size=64, n_epochs=2, seed=3, device="cpu")
    model.learn(512)
    digest = hashlib.sha256()
    for name, values in sorted(model.get_parameters()["policy"].items()):
        digest.update(values.numpy().tobytes())
    print("weights", digest.hexdigest())
    envs.close()
"""


def replayed(mosaic: Watcher, run_id: str, count: int) -> int:
    """So many random episodes go as they went; returns how many there are."""
    client = mosaic.daemon.client
    episodes = len(mosaic.events(run_id, "episode"))
    for number in random.Random(0).sample(range(episodes), min(count, episodes)):
        recording = client.get_recording(run_id, episode_index=number)
        assert not recording.problem, recording.problem
        verdict = verify(recording)
        assert verdict.is_identical, f"episode {number}: {verdict.sentence}"
        assert sum(recording.rewards) == pytest.approx(recording.episode.total_reward)
    return episodes


def test_all_kinds_of_environments_in_one_process(mosaic: Watcher) -> None:
    mosaic.script("zoo.py", ZOO)
    record = mosaic.record("--", sys.executable, "zoo.py")
    assert replayed(mosaic, record.run_id, 6) >= 20
    recording = mosaic.daemon.client.get_recording(record.run_id, episode_index=0)
    with Simulation(recording) as simulation:
        picture = simulation.seek(3)
    assert (picture.width, picture.height) == (600, 400)
    assert len(set(picture.pixels)) > 1
    assert mosaic.notes(record.run_id) == []


def test_environments_in_processes_and_the_same_weights(mosaic: Watcher) -> None:
    mosaic.script("ppo.py", SUBPROCESSES)
    recorded = mosaic.record("--", sys.executable, "ppo.py")
    plain = mosaic.record("--no-record", "--", sys.executable, "ppo.py")
    weights = [mosaic.log(record.run_id, "stdout") for record in (recorded, plain)]
    assert weights[0] == weights[1]
    assert weights[0].startswith("weights ")
    replayed(mosaic, recorded.run_id, 3)
    files = mosaic.daemon.home.run(recorded.run_id).recordings
    assert len(list(files.glob("*.rec"))) == 2, "one per process with environments"
    assert not mosaic.daemon.home.run(plain.run_id).recordings.exists()
    problem = mosaic.daemon.client.get_recording(plain.run_id, episode_index=0).problem
    assert "not recorded" in problem


def test_an_example_and_an_environment_of_the_scripts_own_folder(mosaic: Watcher) -> None:
    record = mosaic.record("--", sys.executable, str(EXAMPLES / "reinforce.py"), "--episodes", "15")
    replayed(mosaic, record.run_id, 2)
    mosaic.script(
        "corridor.py",
        """
        import gymnasium

        class Corridor(gymnasium.Env):
            observation_space = gymnasium.spaces.Discrete(9)
            action_space = gymnasium.spaces.Discrete(2)

            def reset(self, *, seed=None, options=None):
                super().reset(seed=seed)
                self.place = int(self.np_random.integers(4))
                return self.place, {}

            def step(self, action):
                self.place += action
                return self.place, float(self.np_random.normal()), self.place >= 8, False, {}
        """,
    )
    mosaic.script(
        "walk.py",
        """
        import gymnasium
        gymnasium.register("Corridor-v0", entry_point="corridor:Corridor")
        env = gymnasium.make("Corridor-v0")
        for _ in range(5):
            env.reset()
            while not env.step(1)[2]:
                pass
        """,
    )
    record = mosaic.record("--", sys.executable, "walk.py")
    replayed(mosaic, record.run_id, 2)


def test_what_cannot_be_made_again_is_said_once(mosaic: Watcher) -> None:
    mosaic.script(
        "own.py",
        """
        import gymnasium
        from gymnasium.envs.classic_control import CartPoleEnv
        for _ in range(3):
            env = CartPoleEnv()
            env.reset(seed=1)
            while not env.step(0)[2]:
                pass
        """,
    )
    record = mosaic.record("--", sys.executable, "own.py")
    assert len(mosaic.events(record.run_id, "episode")) == 3
    why = "episodes of CartPoleEnv cannot be replayed: it was not made by gymnasium.make"
    assert mosaic.notes(record.run_id) == [why]
