"""What scripts do with Stable-Baselines3, TensorBoard, W&B and older Gymnasium is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.injection_stage import Stage

EXAMPLES = Path(__file__).parents[2] / "examples" / "watch"

STABLE_BASELINES = """
import hashlib
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
from stable_baselines3 import DQN, PPO

model = MODEL
model.learn(2000, log_interval=1)
digest = hashlib.sha256()
for parameter in model.policy.parameters():
    digest.update(parameter.detach().numpy().tobytes())
print(digest.hexdigest())
"""

SUMMARY_WRITER = """
import torch
from torch.utils.tensorboard import SummaryWriter

writer = SummaryWriter("runs/mine")
for step in range(2000):
    writer.add_scalar("losses/value_loss", torch.tensor(2000.0 - step), step)
    writer.add_scalars("both", {"a": step, "b": -step}, global_step=step)
writer.close()
print("done")
"""

# In the style of vectorised PPO code from before Gymnasium 1.0.
OLD_STYLE = """
import gymnasium as gym
import numpy as np

def make_env():
    env = gym.make("CartPole-v1")
    env = gym.wrappers.RecordEpisodeStatistics(env)
    return gym.wrappers.TransformObservation(env, lambda seen: np.clip(seen, -10, 10))

def main():
    envs = gym.vector.KIND([make_env] * 3)
    envs.reset(seed=1)
    envs.action_space.seed(1)
    logged, ended, steps = [], 0, 0
    for _ in range(300):
        seen, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
        steps += int(rewards.sum())
        for index, is_over in enumerate(np.logical_or(terminated, truncated)):
            if is_over:
                ended += 1
                last = infos["final_observation"][index]
                assert abs(last[0]) > 2.4 or abs(last[2]) > 0.2095, "not the last one"
                assert np.abs(seen[index]).max() <= 0.05, "not a first one: no reset in the step"
        if "final_info" in infos:
            for info in infos["final_info"]:
                if info and "episode" in info:
                    assert info["episode"]["r"] == info["episode"]["l"][0]
                    logged.append(float(info["episode"]["r"]))
    envs.close()
    assert steps == 900, "a step was spent on a reset"
    print(len(logged), ended, sum(logged))

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.parametrize(
    ("model", "steps", "names"),
    [
        (
            'PPO("MlpPolicy", CartPoleEnv(), seed=1, n_steps=256, device="cpu")',
            2048,
            {"rollout/ep_rew_mean", "train/value_loss", "time/fps"},
        ),
        (
            'DQN("MlpPolicy", "CartPole-v1", seed=1, learning_starts=200, device="cpu")',
            2000,
            {"rollout/ep_rew_mean", "rollout/exploration_rate", "time/fps"},
        ),
    ],
    ids=["PPO", "DQN"],
)
def test_stable_baselines_learns_the_same_and_its_losses_arrive(
    stage: Stage, model: str, steps: int, names: set[str]
) -> None:
    script = STABLE_BASELINES.replace("MODEL", model)
    outcome = stage.watched(script, slots=1)
    assert outcome.output == stage.plain(script)
    assert outcome.steps == steps
    assert outcome.episodes > 20
    assert names <= {message["name"] for message in outcome.of_kind("metric")}
    last = [m for m in outcome.of_kind("metric") if m["name"] == "train/loss"][-1]
    assert steps - 500 < last["step"] <= steps
    assert outcome.picture is not None


@pytest.mark.parametrize(
    ("name", "words"),
    [("reinforce", ("--episodes", "60")), ("actor_critic", ("--updates", "60", "--envs", "2"))],
)
def test_the_examples_learn_the_same_while_they_are_seen(
    stage: Stage, name: str, words: tuple[str, ...]
) -> None:
    script = (EXAMPLES / f"{name}.py").read_text()
    outcome = stage.watched(script, *words, slots=2)
    assert "weights" in outcome.output
    assert outcome.output == stage.plain(script, *words)
    assert outcome.episodes > 20
    assert outcome.picture is not None
    assert outcome.errors == ""


def test_all_scalars_of_a_summary_writer_arrive(stage: Stage) -> None:
    outcome = stage.watched(SUMMARY_WRITER)
    assert outcome.output == "done\n"
    assert outcome.of_kind("tensorboard") == [
        {"kind": "tensorboard", "path": str(stage.folder / "runs" / "mine")}
    ]
    points = [m for m in outcome.of_kind("metric") if m["name"] == "losses/value_loss"]
    assert [point["step"] for point in points] == list(range(2000))
    finals = {m["name"]: m["value"] for m in outcome.of_kind("metric")}
    assert (finals["both/a"], finals["both/b"]) == (1999.0, -1999.0)


@pytest.mark.parametrize("kind", ["SyncVectorEnv", "AsyncVectorEnv"])
def test_a_script_for_older_gymnasium_logs_its_episodes(stage: Stage, kind: str) -> None:
    script = OLD_STYLE.replace("KIND", kind)
    outcome = stage.watched(script, is_old=True)
    logged, ended, total = outcome.output.split()
    assert int(logged) == int(ended) == outcome.episodes > 20
    assert float(total) > 200
    assert stage.plain(script) == "", "without the layer it fails"


def test_vectors_that_a_script_for_older_gymnasium_would_misread_are_told(stage: Stage) -> None:
    script = """
import gymnasium as gym
made = [lambda: gym.make("CartPole-v1")]
gym.vector.SyncVectorEnv(made, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
print(gym.__version__)
"""
    assert not stage.watched(script).of_kind("vectors"), "it says what it wants"
    outcome = stage.watched(script.replace("made, ", "made) # "))
    assert outcome.of_kind("vectors") == [
        {"kind": "vectors", "gymnasium": outcome.output.strip(), "is_looked_for": False},
    ]
    looking = stage.watched(script.replace("made, ", "made) # ") + 'print("final_info")')
    assert [message["is_looked_for"] for message in looking.of_kind("vectors")] == [True]
    assert not stage.watched(script.replace("made, ", "made) # "), is_old=True).of_kind("vectors")


def test_a_vector_without_environments_of_its_own_is_counted(stage: Stage) -> None:
    script = """
import gymnasium as gym
envs = gym.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
envs = gym.wrappers.vector.RecordEpisodeStatistics(envs)
envs.reset(seed=1)
envs.action_space.seed(1)
returns, lengths = [], []
for _ in range(500):
    *_, infos = envs.step(envs.action_space.sample())
    if "episode" in infos:
        returns += infos["episode"]["r"][infos["_episode"]].tolist()
        lengths += infos["episode"]["l"][infos["_episode"]].tolist()
print(len(returns), sum(returns), sum(lengths))
"""
    outcome = stage.watched(script)
    count, total, steps = outcome.output.split()
    assert outcome.episodes == int(count) > 20
    episodes = outcome.of_kind("episode")
    assert sum(m["total_reward"] for m in episodes) == float(total)
    assert sum(m["length"] for m in episodes) == int(steps)
    assert int(steps) <= outcome.steps <= 1500 - int(count) + 3
    (note,) = outcome.of_kind("note")
    assert note["text"].startswith("no live view of CartPoleVectorEnv: ")


def test_wandb_offline_is_mirrored(stage: Stage) -> None:
    script = """
import wandb
run = wandb.init(project="p", mode="offline", dir=".", settings=wandb.Settings(console="off"))
for step in range(3):
    wandb.log({"loss": 3 - step, "inner": {"kl": 0.5}, "text": "no"})
run.finish()
"""
    outcome = stage.watched(script, WANDB_SILENT="true")
    (place,) = outcome.of_kind("wandb")
    assert Path(place["path"]).is_relative_to(stage.folder / "wandb")
    last = {m["name"]: (m["value"], m["step"]) for m in outcome.of_kind("metric")}
    assert last == {"loss": (1.0, 2), "inner.kl": (0.5, 2)}
