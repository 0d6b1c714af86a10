"""Scripts of other Pythons, watched and played again by those that are on this machine."""

from __future__ import annotations

import json
import subprocess

import pytest

from mosaic.replay.simulation import verify
from tests.integration.watching.watch_harness import Watcher
from tests.script_interpreters import SOURCES, VERSIONS, interpreter, script_modules
from tests.waiting import PATIENCE_S

# As much of Gymnasium and of TensorBoard as the hooks look at, in Python alone: interpreters have
# nothing installed.
LIBRARIES = {
    "gymnasium/__init__.py": """
from gymnasium import core, envs, spaces, wrappers
from gymnasium.core import Env

__version__ = "0.29.1"

def make(env_id, disable_env_checker=False, **kwargs):
    spec = envs.registration.registry[env_id]
    env = spec.entry_point(**kwargs)
    env.spec = spec
    return wrappers.OrderEnforcing(env)
""",
    "gymnasium/core.py": """
class Env:
    metadata = {"render_modes": []}
    render_mode = spec = None

    @property
    def unwrapped(self):
        return self

    def reset(self, *, seed=None, options=None):
        pass

    def close(self):
        pass

class Wrapper(Env):
    def __init__(self, env):
        self.env = env

    def __getattr__(self, name):
        return getattr(self.env, name)

    @property
    def unwrapped(self):
        return self.env.unwrapped

    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options=options)

    def step(self, action):
        return self.env.step(action)

    def close(self):
        return self.env.close()
""",
    "gymnasium/wrappers.py": """
from gymnasium.core import Wrapper

class OrderEnforcing(Wrapper):
    def reset(self, *, seed=None, options=None):
        return self.env.reset(seed=seed, options=options)

    def step(self, action):
        return self.env.step(action)

class TimeLimit(Wrapper):
    pass
""",
    "gymnasium/spaces.py": """
class Discrete:
    pass

class Tuple:
    def __init__(self, spaces):
        self.spaces = spaces
""",
    "gymnasium/envs/__init__.py": "from gymnasium.envs import registration",
    "gymnasium/envs/registration.py": "registry = {}",
    "tensorboardX/__init__.py": "",
    "tensorboardX/writer.py": """
class SummaryWriter:
    def add_scalar(self, tag, scalar_value, global_step=None):
        pass

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None):
        pass
""",
    "dice.py": """
import random
import types
import gymnasium

class Dice(gymnasium.Env):
    action_space = gymnasium.spaces.Tuple([gymnasium.spaces.Discrete()] * 2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.dice, self.rolls = random.Random(seed), 0
        return 0, {}

    def step(self, action):
        self.rolls += 1
        reward = self.dice.random() * action[0] + action[1]
        return self.rolls, reward, self.rolls == 9, False, {}

gymnasium.envs.registration.registry["Dice-v0"] = types.SimpleNamespace(
    id="Dice-v0", kwargs={}, entry_point=Dice
)
""",
}
SCRIPT = """
import json
import sys
import gymnasium, dice
from tensorboardX.writer import SummaryWriter

writer = SummaryWriter()
env = gymnasium.make("Dice-v0")
returns = []
for episode in range(20):
    env.reset(seed=episode)
    total, over = 0.0, False
    while not over:
        _, reward, over, _, _ = env.step((episode, 0.25))
        total += reward
    returns.append(total)
    writer.add_scalar("charts/return", total, episode)
modules = sorted(name for name in sys.modules if name.split(".")[0] == "mosaic")
print(json.dumps({"returns": returns, "modules": modules}))
"""


@pytest.mark.parametrize("version", VERSIONS)
def test_it_imports_all_that_it_may_be_asked_to(version: str) -> None:
    names = [name for name in script_modules() if not name.endswith("sitecustomize")]
    program = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    done = subprocess.run(
        [interpreter(version), "-W", "error", "-c", program],
        env={"PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_script_is_watched_and_its_episodes_are_played_again(
    mosaic: Watcher, version: str
) -> None:
    python = interpreter(version)
    for name, text in LIBRARIES.items():
        (mosaic.folder / name).parent.mkdir(parents=True, exist_ok=True)
        mosaic.script(name, text)
    mosaic.script("train.py", SCRIPT)
    run_id = mosaic.record("--env-python", python, "--", "python", "train.py").run_id
    assert "failed" not in mosaic.log(run_id, "stderr")
    said = json.loads(mosaic.log(run_id, "stdout"))
    assert set(said["modules"]) <= script_modules().keys(), "all that is imported is looked at"
    episodes, points = mosaic.events(run_id, "episode"), mosaic.events(run_id, "metric")
    assert [episode["total_reward"] for episode in episodes] == said["returns"]
    assert [point["value"] for point in points] == said["returns"]
    assert mosaic.daemon.client.get_run(run_id).progress.steps == 20 * 9
    for number in (0, 7, 19):
        recording = mosaic.daemon.client.get_recording(run_id, episode_index=number)
        assert recording.python == python
        verdict = verify(recording)
        assert verdict.is_identical, verdict.sentence
