"""A real training, watched at natural speed: a real helper process draws its newest episodes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import RequestError
from mosaic.processes import stat_fields
from mosaic.replay.stretches import NICENESS, StretchPlayer, StretchStep
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
TRAINING = {
    "algo": "ppo",
    "env_id": "CartPole-v1",
    "total_timesteps": 500_000_000,
    "seed": 1,
    "extras": {"algo_params": {"num_envs": 3}},
}


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def run_id(daemon: DaemonHarness) -> str:
    return daemon.submit(
        entry_point="cleanrl",
        resources={"cpus": 1, "memory_mb": 2048},
        metadata={"worker": {"config": TRAINING}},
    )


def newest(daemon: DaemonHarness, run_id: str, after: int = -1) -> EpisodeRecording:
    """As soon as one is recorded that is newer."""

    def found() -> EpisodeRecording | None:
        for episode in daemon.client.episodes(run_id, limit=1, order="newest"):
            try:
                recording = daemon.client.get_recording(run_id, episode.episode_index)
            except RequestError:
                return None
            return recording if not recording.problem and episode.episode_index > after else None
        return None

    return wait_until(found)


def assert_consecutive(steps: list[StretchStep]) -> None:
    """Every step of whole episodes, up to the end of the newest."""
    assert steps[0].step in (0, 1) and steps[-1].is_newest and steps[-1].left == 0
    for before, after in pairwise(steps):
        assert after.step in (before.step + 1, 1)
        assert after.left == before.left - 1


def is_gone(pid: int) -> bool:
    return (stat_fields(pid) or "Z")[0] == "Z"


def test_newest_episodes_one_after_the_other_in_one_process(
    daemon: DaemonHarness, run_id: str
) -> None:
    recording = newest(daemon, run_id)
    with StretchPlayer(recording) as player:
        pid = player.pid
        for _ in range(2):
            steps = list(player.play(recording))
            assert_consecutive(steps)
            assert player.is_exact
            assert steps[-1].step == recording.episode.steps
            assert steps[-1].total == recording.episode.total_reward
            assert steps[0].pace.steps_per_second == 50
            assert {(step.change.width, step.change.height) for step in steps} == {(600, 400)}
            recording = newest(daemon, run_id, after=recording.episode.episode_index)
            assert player.fits(recording) and player.pid == pid
        assert psutil.Process(pid).nice() == NICENESS
    assert is_gone(pid)


def test_it_waits_while_nobody_takes_its_pictures_and_is_gone_when_killed(
    daemon: DaemonHarness, run_id: str
) -> None:
    recording = newest(daemon, run_id)
    with StretchPlayer(recording) as player:
        pictures = player.play(recording)
        next(pictures)
        waits = (psutil.STATUS_SLEEPING, psutil.STATUS_DISK_SLEEP)
        wait_until(lambda: psutil.Process(player.pid).status() in waits)
        player.kill()
        wait_until(lambda: is_gone(player.pid))


_OWNER = """
import sys, time
from mosaic.client.trainer_client import TrainerClient
from mosaic.paths import Home
from mosaic.replay.stretches import StretchPlayer
from pathlib import Path

home, run_id, episode = sys.argv[1:]
with TrainerClient(Home(Path(home)), autostart=False) as client:
    recording = client.get_recording(run_id, int(episode))
player = StretchPlayer(recording)
next(player.play(recording))
print(player.pid, flush=True)
time.sleep(600)
"""


def test_it_ends_with_an_owner_that_is_killed(daemon: DaemonHarness, run_id: str) -> None:
    episode = newest(daemon, run_id).episode.episode_index
    command = [sys.executable, "-c", _OWNER, str(daemon.home.root), run_id, str(episode)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        try:
            assert owner.stdout is not None
            pid = int(owner.stdout.readline())
            assert not is_gone(pid)
        finally:
            os.kill(owner.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(pid))
