"""A stage for scripts that know nothing of MOSAIC: each runs with and without injection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import mosaic
from mosaic.contracts.worker_environment import FASTLANE_SEGMENT
from mosaic.fastlane.settings import BUDGET, INTERVAL_MS
from mosaic.fastlane.tiling import Picture
from mosaic.fastlane.viewer import Viewer
from mosaic.injection.variables import SITE_FOLDER
from mosaic.watch.bridge import Ledgers
from mosaic.watch.config import ScriptConfig
from mosaic.watch.messages import Message
from mosaic.watch.variables import script_variables
from tests.waiting import PATIENCE_S

SOURCES = Path(mosaic.__file__).parents[1]

# Scripts whose frames are looked at go on until somebody has seen one, so that what follows, which
# is compared, happens under a viewer's eyes.
LOOP = """
import hashlib
import os
import sys
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


class Outcome(NamedTuple):
    output: str
    errors: str
    messages: list[dict[str, Any]]
    picture: Picture | None

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["kind"] == kind]

    @property
    def episodes(self) -> int:
        return len(self.of_kind("episode"))

    @property
    def steps(self) -> int:
        """Each process tells its own."""
        last = {message["pid"]: message["steps"] for message in self.of_kind("progress")}
        return sum(last.values())


class Stage:
    """Runs scripts in a folder, reads what they report, and looks at their frames if told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fifo, self.segment = folder / "bridge", folder / "segment"
        self.seen = folder / "seen"
        os.mkfifo(self.fifo)
        self.variables = {
            name: value for name, value in os.environ.items() if not name.startswith("MOSAIC_")
        }
        self.variables["OMP_NUM_THREADS"] = "1"  # small networks and few cores

    def injected(self, *, is_old: bool = False, **variables: str) -> dict[str, str]:
        return script_variables(
            {**self.variables, **variables},
            ScriptConfig(command=("python",), compatibility=is_old),
            bridge=str(self.fifo),
            import_folders=(str(SITE_FOLDER), str(SOURCES)),
        )

    def plain(self, script: str, *words: str) -> str:
        self.seen.touch()
        done = self.start(script, self.variables, *words).communicate(timeout=PATIENCE_S)
        return str(done[0])

    def watched(
        self, script: str, *words: str, slots: int = 0, is_old: bool = False, **variables: str
    ) -> Outcome:
        """With `slots`, somebody looks at that many environments."""
        changed = self.injected(is_old=is_old, **variables)
        changed.update({FASTLANE_SEGMENT: str(self.segment), INTERVAL_MS: "5", BUDGET: "0.5"})
        self.seen.unlink(missing_ok=True)
        if not slots:
            self.seen.touch()
        read_end = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        process = self.start(script, changed, *words)
        received, taken = bytearray(), list[Message]()
        ledgers = Ledgers(self.folder)
        viewer = Viewer(self.segment, slot_count=slots) if slots else None
        picture = None
        output: list[tuple[str, str]] = []
        talking = threading.Thread(target=lambda: output.append(process.communicate()))
        talking.start()
        killer = threading.Timer(PATIENCE_S, process.kill)
        killer.start()
        try:
            while talking.is_alive():
                talking.join(0.01)
                _read(read_end, received)
                ledgers.read(taken.append)
                seen = viewer.poll().picture if viewer is not None else None
                picture = seen or picture
                if picture is not None:
                    self.seen.touch()
            _read(read_end, received)
            ledgers.read(taken.append, is_last=True)
        finally:
            killer.cancel()
            os.close(read_end)
            if viewer is not None:
                viewer.close()
        assert process.returncode == 0, output
        messages = [json.loads(line) for line in received.decode().splitlines()]
        messages += [{"kind": type(each).__name__.lower(), **each._asdict()} for each in taken]
        return Outcome(*output[0], messages, picture)

    def start(self, script: str, variables: dict[str, str], *words: str) -> subprocess.Popen[str]:
        path = self.folder / "script.py"
        path.write_text(script)
        return subprocess.Popen(
            [sys.executable, str(path), *words],
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
