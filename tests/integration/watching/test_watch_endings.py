"""However a script ends, what it did until then is kept."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.integration.watching.watch_harness import Watcher

# Ends at once: no thread of ours has had the time to do anything.
SUDDEN = """
import ctypes, os, signal, sys
import gymnasium as gym
from tensorboardX.writer import SummaryWriter
writer = SummaryWriter()
env = gym.make("CartPole-v1")
for episode in range(20):
    env.reset(seed=episode)
    total, over = 0.0, False
    while not over:
        _, reward, over, _, _ = env.step(0)
        total += reward
    writer.add_scalar("charts/return", total, episode)
    print(total, flush=True)
if sys.argv[1] == "SIGKILL":
    os.kill(os.getpid(), signal.SIGKILL)
ctypes.string_at(0)
"""
WRITER = """
class SummaryWriter:
    def add_scalar(self, tag, scalar_value, global_step=None):
        pass
    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None):
        pass
"""

# Becomes itself again, with a process id that has counted before.
INCARNATIONS = """
import os, sys
import gymnasium as gym
env = gym.make("CartPole-v1")
env.reset(seed=1)
for _ in range(100):
    if any(env.step(0)[2:4]):
        env.reset()
left = int(sys.argv[1]) - 1
if left:
    os.execv(sys.executable, [sys.executable, __file__, str(left)])
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_a_script_that_is_killed_keeps_its_episodes_and_values(mosaic: Watcher, name: str) -> None:
    (mosaic.folder / "tensorboardX").mkdir()
    mosaic.script("tensorboardX/__init__.py", "")
    mosaic.script("tensorboardX/writer.py", WRITER)
    mosaic.script("sudden.py", SUDDEN)
    record = mosaic.record("--", sys.executable, "sudden.py", name, status=1)
    assert record.signal == signal.Signals[name]
    returns = [float(line) for line in mosaic.log(record.run_id, "stdout").splitlines()]
    assert len(returns) == 20
    episodes = mosaic.events(record.run_id, "episode")
    assert [episode["total_reward"] for episode in episodes] == returns
    assert [point["value"] for point in mosaic.events(record.run_id, "metric")] == returns
    assert record.progress.steps == sum(returns)

    # Recordings are written a moment later, which there was none of.
    listed = mosaic.call(record.run_id, "--list", command="replay").stdout
    assert "killed" in listed
    problem = mosaic.call(record.run_id, "--verify", command="replay", status=5)
    assert "killed" in problem.stdout + problem.stderr


def test_a_program_that_becomes_itself_again_counts_all_its_steps(mosaic: Watcher) -> None:
    mosaic.script("again.py", INCARNATIONS)
    record = mosaic.record("--", sys.executable, "again.py", "4")
    assert record.progress.steps == 400
    assert record.progress.episodes == len(mosaic.events(record.run_id, "episode")) > 30
