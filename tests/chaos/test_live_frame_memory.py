"""No room in /dev/shm for a run's frames: the training goes on, and somebody is told (fault 6)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.viewer import Viewer
from tests.chaos.chaos_daemon import ChaosDaemon, chaos_daemon
from tests.chaos.figures import record
from tests.chaos.live_runs import SCRIPT, TRAINING, told
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

STEPS = 1024
TOLD = re.compile(r"no live view.*: (.*No space left on device|only \d+ bytes of a frame fitted)")


class SmallMemoryDaemon(ChaosDaemon):
    """It and all it starts have a /dev/shm of their own, of so much."""

    def launch(self, *arguments: str) -> None:
        options = self.environment["SMALL_MEMORY"]
        script = f'mount -t tmpfs -o {options} tmpfs /dev/shm && exec "$@"'
        words = [sys.executable, "-m", "mosaic.daemon", "--home", str(self.home.root), *arguments]
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", script, "sh", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def memory(self) -> Path:
        """Its /dev/shm, as seen from here."""
        assert self.process is not None
        return Path("/proc", str(self.process.pid), "root", "dev", "shm")


@pytest.fixture(autouse=True)
def _may_mount() -> None:
    try:
        command = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]
        tried = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no `unshare` program: no small /dev/shm")
    if tried.returncode != 0:
        pytest.skip(f"this user may not mount a /dev/shm: {tried.stderr.strip()}")


@pytest.mark.parametrize(
    ("options", "meaning"),
    [
        ("size=64k", "no room for a frame"),
        ("size=8k", "no room for a header"),
    ],
)
def test_training_goes_on_without_memory_for_its_frames(options: str, meaning: str) -> None:
    with chaos_daemon(SmallMemoryDaemon, SMALL_MEMORY=options) as daemon:
        assert isinstance(daemon, SmallMemoryDaemon)
        runs = {kind.submit(daemon, STEPS): kind for kind in (SCRIPT, TRAINING)}
        viewers = [Viewer(segment_path(run_id, daemon.memory)) for run_id in runs]
        pictures = 0

        def are_over() -> bool:
            nonlocal pictures
            pictures += sum(viewer.poll().picture is not None for viewer in viewers)
            return all(daemon.client.get_run(run_id).is_over for run_id in runs)

        wait_until(are_over, 60, "the runs to end")
        for viewer in viewers:
            viewer.close()
        for run_id, kind in runs.items():
            kind.assert_complete(daemon, run_id, STEPS)
            assert TOLD.search(told(daemon, run_id)), kind
        left = [path.name for path in daemon.memory.iterdir() if path.name.startswith("mosaic.")]
    record(
        "6",
        f"/dev/shm with {options}, {meaning} — {len(runs)}/{len(runs)} trainings complete and "
        f"told, {pictures} pictures, {len(left)} names left",
    )
    assert (left, pictures) == ([], 0)
