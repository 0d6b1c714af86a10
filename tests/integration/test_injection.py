"""Real scripts that know nothing of MOSAIC, each with and without injection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mosaic.contracts.worker_environment import FASTLANE_SEGMENT
from mosaic.fastlane.settings import BUDGET, INTERVAL_MS
from mosaic.fastlane.tiling import Picture
from mosaic.fastlane.viewer import Viewer
from mosaic.injection.variables import injected

TIMEOUT_S = 100

# Scripts whose frames are looked at go on until somebody has seen one, so that what follows, which
# is compared, happens under a viewer's eyes.
LOOP = """
import hashlib
import os
import gymnasium
import numpy

env = gymnasium.make("CartPole-v1")
steps, total, returns = 0, 0.0, []

def step(action):
    global steps, total
    observation, reward, terminated, truncated, info = env.step(action)
    steps += 1
    total += reward
    if terminated or truncated:
        returns.append(total)
        total = 0.0
        env.reset()
    return observation

env.reset()
while not os.path.exists("seen"):
    step(0)
env.action_space.seed(1)
numpy.random.seed(1)
env.reset(seed=1)
total, digest = 0.0, hashlib.sha256()
for _ in range(STEPS):
    digest.update(step(env.action_space.sample()).tobytes())
env.close()
assert env.unwrapped.render_mode is None
print(digest.hexdigest(), numpy.random.random(), steps, len(returns), sum(returns))
"""

ASYNC = """
import os
import gymnasium

def main():
    envs = gymnasium.vector.AsyncVectorEnv(
        [lambda: gymnasium.make("CartPole-v1")] * 2, context=CONTEXT
    )
    envs.action_space.seed(1)
    envs.reset()
    while not os.path.exists("seen"):
        envs.step(envs.action_space.sample())
    envs.action_space.seed(1)
    total, ended = envs.reset(seed=1)[0].sum(), 0
    for _ in range(STEPS):
        observation, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
        total += observation.sum()
        ended += int((terminated | truncated).sum())
    envs.close()
    print(repr(float(total)), ended)

if __name__ == "__main__":
    main()
"""

STABLE_BASELINES = """
import hashlib
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
from stable_baselines3 import PPO

model = PPO("MlpPolicy", CartPoleEnv(), seed=1, n_steps=256, device="cpu")
model.learn(2000)
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


class Outcome(NamedTuple):
    output: str
    errors: str
    messages: list[dict[str, Any]]
    picture: Picture | None

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["kind"] == kind]

    @property
    def episodes(self) -> int:
        merged: int = sum(message["count"] for message in self.of_kind("episodes"))
        return len(self.of_kind("episode")) + merged

    @property
    def steps(self) -> int:
        """Each process tells its own."""
        last = {message["pid"]: message["steps"] for message in self.of_kind("progress")}
        return sum(last.values())


class Stage:
    """Runs scripts in a folder, reads their FIFO, and looks at their frames if told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fifo, self.segment = folder / "bridge", folder / "segment"
        self.seen = folder / "seen"
        os.mkfifo(self.fifo)
        self.variables = {
            name: value for name, value in os.environ.items() if not name.startswith("MOSAIC_")
        }
        self.variables["OMP_NUM_THREADS"] = "1"  # small networks and few cores

    def plain(self, script: str) -> str:
        self.seen.touch()
        done = self._start(script, self.variables).communicate(timeout=TIMEOUT_S)
        return str(done[0])

    def watched(
        self, script: str, *, slots: int = 0, is_old: bool = False, **variables: str
    ) -> Outcome:
        """With `slots`, somebody looks at that many environments."""
        changed = injected(
            {**self.variables, **variables}, str(self.fifo), is_written_for_old_gymnasium=is_old
        )
        changed.update({FASTLANE_SEGMENT: str(self.segment), INTERVAL_MS: "5", BUDGET: "0.5"})
        self.seen.unlink(missing_ok=True)
        if not slots:
            self.seen.touch()
        read_end = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        process = self._start(script, changed)
        received = bytearray()
        viewer = Viewer(self.segment, slot_count=slots) if slots else None
        picture = None
        output: list[tuple[str, str]] = []
        talking = threading.Thread(target=lambda: output.append(process.communicate()))
        talking.start()
        killer = threading.Timer(TIMEOUT_S, process.kill)
        killer.start()
        try:
            while talking.is_alive():
                talking.join(0.01)
                _read(read_end, received)
                seen = viewer.poll().picture if viewer is not None else None
                picture = seen or picture
                if picture is not None:
                    self.seen.touch()
            _read(read_end, received)
        finally:
            killer.cancel()
            os.close(read_end)
            if viewer is not None:
                viewer.close()
        assert process.returncode == 0, output
        messages = [json.loads(line) for line in received.decode().splitlines()]
        return Outcome(*output[0], messages, picture)

    def _start(self, script: str, variables: dict[str, str]) -> subprocess.Popen[str]:
        path = self.folder / "script.py"
        path.write_text(script)
        return subprocess.Popen(
            [sys.executable, str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables,
            cwd=self.folder,
        )


def _read(fd: int, received: bytearray) -> None:
    try:
        while data := os.read(fd, 65536):
            received += data
    except BlockingIOError:
        pass


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    yield Stage(tmp_path)


def test_a_plain_loop_is_seen_and_does_the_same(stage: Stage) -> None:
    script = LOOP.replace("STEPS", "5000")
    outcome = stage.watched(script, slots=1)
    digest, drawn, steps, ended, total = outcome.output.split()
    assert [digest, drawn] == stage.plain(script).split()[:2], "same observations and randomness"
    assert outcome.steps == int(steps)
    assert outcome.episodes == int(ended)
    singles = sum(m["return"] for m in outcome.of_kind("episode"))
    merged = sum(m["count"] * m["mean_return"] for m in outcome.of_kind("episodes"))
    assert singles + merged == pytest.approx(float(total))
    assert outcome.picture is not None
    assert len(set(outcome.picture.pixels)) > 2, "it shows something"
    assert outcome.errors == ""


def test_with_nobody_looking_nothing_is_rendered(stage: Stage) -> None:
    script = LOOP.replace("STEPS", "2000") + "\nimport sys\nassert 'pygame' not in sys.modules\n"
    assert stage.watched(script).steps == 2000


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_environments_in_processes_of_their_own_are_seen(stage: Stage, context: str) -> None:
    script = ASYNC.replace("STEPS", "500").replace("CONTEXT", repr(context))
    outcome = stage.watched(script, slots=2)
    assert outcome.output == stage.plain(script)
    assert outcome.episodes >= int(outcome.output.split()[1]) > 10
    assert len({m["pid"] for m in outcome.of_kind("episode")}) == 2
    assert outcome.picture is not None
    assert outcome.picture.width == 2 * 480, "both of them, side by side"


def test_stable_baselines_learns_the_same_and_its_losses_arrive(stage: Stage) -> None:
    outcome = stage.watched(STABLE_BASELINES, slots=1)
    assert outcome.output == stage.plain(STABLE_BASELINES)
    assert outcome.steps == 2048
    assert outcome.episodes > 20
    names = {message["name"] for message in outcome.of_kind("metric")}
    assert {"rollout/ep_rew_mean", "train/value_loss", "time/fps"} <= names
    last = [m for m in outcome.of_kind("metric") if m["name"] == "train/loss"][-1]
    assert last["step"] == 2048
    assert outcome.picture is not None


def test_scalars_of_a_summary_writer_arrive_limited_and_with_the_last(stage: Stage) -> None:
    outcome = stage.watched(SUMMARY_WRITER)
    assert outcome.output == "done\n"
    assert outcome.of_kind("tensorboard") == [
        {"kind": "tensorboard", "path": str(stage.folder / "runs" / "mine")}
    ]
    points = [m for m in outcome.of_kind("metric") if m["name"] == "losses/value_loss"]
    assert points[-1] == {
        "kind": "metric",
        "name": "losses/value_loss",
        "value": 1.0,
        "step": 1999,
    }
    assert len(points) < 200
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


def test_the_scripts_own_sitecustomize_runs_and_its_errors_are_shown_as_ever(
    stage: Stage,
) -> None:
    own = stage.folder / "own"
    own.mkdir()
    customize = own / "sitecustomize.py"
    customize.write_text("import sys\nsys.theirs = 7\n")
    script = "import sitecustomize, sys\nprint(sys.theirs, sitecustomize.__file__)\n"
    outcome = stage.watched(script, PYTHONPATH=str(own))
    assert outcome.output == f"7 {customize}\n"

    customize.write_text("raise ValueError('theirs')\n")
    script = LOOP.replace("STEPS", "500")
    outcome = stage.watched(script, PYTHONPATH=str(own))
    assert "Error in sitecustomize" in outcome.errors
    assert "ValueError: theirs" in outcome.errors
    assert outcome.steps == 500, "and injection is there all the same"


def test_a_raising_hook_does_not_break_the_script(stage: Stage) -> None:
    broken = stage.folder / "broken"
    broken.mkdir()
    # A library with the name of one we hook, and nothing in it that a hook expects.
    (broken / "gymnasium.py").write_text("answer = 42\n")
    script = "import gymnasium\nprint(gymnasium.answer)\n"
    outcome = stage.watched(script, PYTHONPATH=str(broken))
    assert outcome.output == "42\n"
    assert outcome.errors.startswith("mosaic: watching gymnasium failed (KeyError")
    assert outcome.errors.count("\n") == 1


def test_injection_that_cannot_even_start_does_not_break_the_script(stage: Stage) -> None:
    variables = injected(stage.variables, str(stage.fifo))
    site_only = variables["PYTHONPATH"].split(os.pathsep)[0]
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sitecustomize; print('goes on')"],
        env={**variables, "PYTHONPATH": site_only},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    assert done.stdout == "goes on\n"
    assert done.stderr.startswith("mosaic: this script is not watched: ModuleNotFoundError")


def test_rendering_leaves_sigterm_to_the_script(stage: Stage) -> None:
    """SDL would take it, and a run could no longer be asked to stop."""
    check = """
import sys
from pathlib import Path
(caught,) = [line for line in Path("/proc/self/status").read_text().splitlines()
             if line.startswith("SigCgt")]
print("pygame" in sys.modules, int(caught.split()[1], 16) >> 14 & 1)
"""
    outcome = stage.watched(LOOP.replace("STEPS", "100") + check, slots=1)
    assert outcome.output.splitlines()[1] == "True 0"


def test_an_exit_without_ceremony_and_a_reader_that_is_gone_are_survived(stage: Stage) -> None:
    script = LOOP.replace("STEPS", "3000") + "\nimport os\nos._exit(0)\n"
    stage.watched(script)
    variables = injected(stage.variables, str(stage.fifo))  # and nobody reads
    process = stage._start(LOOP.replace("STEPS", "3000"), variables)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
