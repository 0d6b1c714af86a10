"""Runs from archives that say whatever a test wants: real archives, taken in by a real daemon."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.contracts.process_recording import (
    Packed,
    Place,
    index_name,
    pack_episodes,
    pack_place,
    process_file_name,
)
from mosaic.contracts.recording_file import BlockKind, pack_block
from tests.daemon_harness import DaemonHarness, run_document

CARTPOLE = {
    "env_id": "CartPole-v1",
    "kwargs": {},
    "max_episode_steps": 500,
    "entry_point": "gymnasium.envs.classic_control.cartpole:CartPoleEnv",
}


def imported_run(
    daemon: DaemonHarness,
    *,
    config: dict[str, Any] | None = None,
    spoil: Callable[[Path], None] | None = None,
) -> str:
    """A run that was made, changed behind the daemon's back, archived, deleted and imported.

    `config` replaces what it says it was submitted with; `spoil` gets its folder.
    """
    command = {"entry_point": sys.executable, "arguments": ["-c", "print('hello')"]}
    run_id = daemon.submit(**command)
    daemon.wait_over(run_id)
    if config is not None:
        daemon.home.config(run_id).write_text(json.dumps(config))
    if spoil is not None:
        spoil(daemon.home.run(run_id).directory)
    return moved(daemon, run_id)


def moved(daemon: DaemonHarness, run_id: str) -> str:
    """The same run, as if it came from another machine."""
    with tempfile.TemporaryDirectory() as folder:
        archive = daemon.client.archive_run(run_id, Path(folder) / "run.zip")
        daemon.client.delete_run(run_id)
        daemon.client.empty_trash()
        daemon.client.import_run(archive)
    return run_id


def watched_config(folder: Path) -> dict[str, Any]:
    """What `mosaic watch -- python train.py` submits."""
    settings = {"command": [sys.executable, "train.py"], "cwd": str(folder)}
    return run_document(entry_point="script", metadata={"worker": {"config": settings}})


def with_recording(
    environment: dict[str, Any], *, facts: dict[str, Any] | None = None, **where: str
) -> Callable[[Path], None]:
    """Puts one recorded episode of three steps into a run; `where`: its python and folder.

    `facts` are said of the episode instead of the right ones.
    """

    def spoil(directory: Path) -> None:
        recordings = directory / "recordings"
        shutil.rmtree(recordings, ignore_errors=True)
        recordings.mkdir()
        told = {
            **{"number": 0, "environment": 0, "start": {"seed": 1}, "was": "int"},
            **{"dtype": "<i8", "shape": [], "terminated": False, "truncated": False},
            **(facts or {}),
        }
        actions, rewards = array("q", [0, 1, 0]).tobytes(), array("d", [1.0] * 3).tobytes()
        common = {"python": "", "folder": "", **where, "environments": [environment]}
        episode = Packed(json.dumps(told), (actions, rewards))
        payload = pack_episodes(common, [episode], 1)
        block = pack_block(BlockKind.EPISODES, payload, first_episode=0, episodes=1)
        (recordings / process_file_name(1, 1)).write_bytes(block)
        (recordings / index_name(1)).write_bytes(pack_place(Place(0, 1, 0, 1)))

    return spoil
