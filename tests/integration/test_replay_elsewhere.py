"""Replay of a worker that has an interpreter and a folder of its own, without any package."""

from __future__ import annotations

import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.contracts.worker_manifest import WorkerManifest
from mosaic.replay.simulation import Simulation, simulate
from tests.daemon_harness import DaemonHarness, running_daemon

WORKER = '''
import random
from dataclasses import dataclass

from mosaic.contracts.replay import Moment
from mosaic.worker import WorkerCapabilities, option


@dataclass(frozen=True)
class Config:
    sides: int = option(6, help="of the dice")


def get_worker_metadata():
    return WorkerCapabilities(worker_type="dice", replay_maker="dice_worker:Dice")


class Dice:
    """The reward is a throw plus the action."""

    def __init__(self, settings):
        self.sides = settings["sides"]

    def begin(self, start):
        self.random, self.thrown = random.Random(start.details["seed"]), 0
        return 0

    def step(self, action):
        self.thrown += 1
        reward = self.random.randrange(self.sides) + action / 3
        return Moment(self.thrown, reward, self.thrown == 9, False)

    def picture(self):
        return None

    def close(self):
        pass
'''
PROGRAM = """
import sys

from dice_worker import Config, Dice, get_worker_metadata
from mosaic.contracts.replay import EpisodeStart
from mosaic.worker import worker_main


def train(run):
    dice = Dice({"sides": run.config.sides})
    dice.begin(EpisodeStart({"seed": 17}, b"", ()))
    total = 0.0
    for index in range(9):
        moment = dice.step(index)
        total += moment.reward
        run.step(episode_index=0, step_index=index, action=index, observation=moment.observation,
                 reward=moment.reward, terminated=moment.terminated, truncated=False,
                 episode_seed=17)
    run.episode(episode_index=0, total_reward=total, steps=9, terminated=True, truncated=False,
                episode_seed=17)


sys.exit(worker_main(get_worker_metadata, Config, train))
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonHarness]:
    package = tmp_path / "code" / "dice_worker"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(WORKER)
    (package / "cli.py").write_text(PROGRAM)
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    manifest = WorkerManifest(
        "dice",
        "dice_worker:get_worker_metadata",
        str(tmp_path / "venv" / "bin" / "python"),
        (str(package.parent),),
    )
    with running_daemon() as harness:
        harness.home.worker_manifests.mkdir(parents=True, exist_ok=True)
        (harness.home.worker_manifests / "dice.toml").write_text(manifest.to_toml())
        yield harness


def test_it_is_simulated_in_its_own_interpreter(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit(entry_point="dice", metadata={"worker": {"config": {"sides": 1000}}})
    record = daemon.wait_over(run_id)
    assert record.outcome == "succeeded", record.stderr_tail
    recording = daemon.client.get_recording(run_id, 0)
    assert recording.problem == "" and str(tmp_path / "venv") in recording.python
    with Simulation(recording) as simulation:
        assert simulation.verify().sentence == "identical"
    steps = list(simulate(recording, observations=True))
    assert [step.observation for step in steps] == list(range(10))
    assert len({step.reward for step in steps}) == 10
    assert all(step.reward == step.recorded_reward for step in steps)
