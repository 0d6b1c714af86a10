"""Runs with frames of one shade, and `mosaic frames` processes that watch them in a terminal."""

from __future__ import annotations

import base64
import os
import re
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mosaic.fastlane.lane import fitted_size
from mosaic.fastlane.layout import DEFAULT_MAX_DIM, DEFAULT_SLOTS, Geometry
from mosaic.fastlane.tiling import Picture
from tests import journal_lines
from tests.chaos.chaos_daemon import ChaosDaemon
from tests.chaos.shade_environment import ENV_ID, PAUSE_VARIABLE, SIDE
from tests.integration.pseudo_terminal import PseudoTerminal

ROOT = Path(__file__).resolve().parents[2]
PPO = {"num_steps": 32, "num_minibatches": 2, "update_epochs": 1, "threads": 1}
GRAPHICS = re.compile(r"\x1b_G([^;\x1b]*);([A-Za-z0-9+/=]*)\x1b\\")


class Kind(NamedTuple):
    """A way to step environments."""

    worker: str
    environments: int
    has_children: bool

    def submit(self, daemon: ChaosDaemon, steps: int, pause_ms: float = 2) -> str:
        """Steps are those of the whole run, or for a script those of its loop."""
        return daemon.submit(
            run_name=f"{self.worker}-{self.environments}",
            entry_point=self.worker,
            environment={"PYTHONPATH": str(ROOT), PAUSE_VARIABLE: str(pause_ms)},
            metadata={"worker": {"config": self._config(steps)}},
        )

    def _config(self, steps: int) -> dict[str, Any]:
        if self.worker == "script":
            words = ("-m", "tests.chaos.shade_script", str(steps), str(self.environments))
            return {"command": [sys.executable, *words]}
        stepping = "processes" if self.has_children else "loop"
        params = {**PPO, "num_envs": self.environments, "vectorization": stepping}
        extras = {"algo_params": params}
        return {"algo": "ppo", "env_id": ENV_ID, "total_timesteps": steps, "extras": extras}

    def assert_complete(self, daemon: ChaosDaemon, run_id: str, steps: int) -> None:
        """It ended well, after exactly so many steps."""
        run = daemon.client.get_run(run_id)
        assert run.outcome == "succeeded", f"{run.run_name}: {run.failure} {run.stderr_tail}"
        if self.worker == "script":
            assert daemon.output(run_id) == f"stepped {steps}\n"
        if self.worker != "script" or self.environments == 1:
            assert run.progress.steps == steps, run.run_name


# A frame as it is shared: the tiles of a run divide its memory, so it is thinned.
TILE = fitted_size(
    SIDE, SIDE, DEFAULT_MAX_DIM, Geometry.within(DEFAULT_SLOTS, DEFAULT_MAX_DIM).frame_bytes
)[0]
LINE = TILE // 40  # between tiles
TRAINING = Kind("cleanrl", 2, False)
TRAINING_IN_PROCESSES = Kind("cleanrl", 4, True)
SCRIPT = Kind("script", 1, False)
SCRIPT_WITH_PROCESSES = Kind("script", 3, True)


def is_whole(picture: Picture) -> bool:
    """Each tile of one shade."""
    place = TILE + LINE
    columns, rows = (picture.width + LINE) // place, (picture.height + LINE) // place
    size = (columns * place - LINE, rows * place - LINE)
    assert picture[:2] == size, f"a picture of {picture[:2]}"
    pixels = np.frombuffer(picture.pixels, np.uint8).reshape(picture.height, picture.width, 3)
    tiles = [
        pixels[row * place :, column * place :][:TILE, :TILE]
        for row in range(rows)
        for column in range(columns)
    ]
    return all(bool((tile == tile[0, 0]).all()) for tile in tiles)


class FramesProcess:
    """`mosaic frames RUN` in a terminal that understands whole pictures."""

    def __init__(self, daemon: ChaosDaemon, run_id: str, *words: str) -> None:
        self._terminal = PseudoTerminal()
        command = daemon.mosaic("frames", run_id, "--style", "kitty", *words)
        environment = {**daemon.environment, "TERM": "xterm-kitty", "PYTHONWARNINGS": "error"}
        self.process: subprocess.Popen[bytes] = self._terminal.start(command, environment)
        self.was_killed = self._is_closed = False

    @property
    def output(self) -> str:
        return self._terminal.output

    @property
    def text(self) -> str:
        """Without the pictures."""
        return GRAPHICS.sub("", self.output)

    def wait_for(self, text: str, timeout_s: float = 30) -> None:
        self._terminal.wait_for(text, timeout_s)

    def has_shown(self) -> bool:
        return next(self.pictures(), None) is not None

    def kill(self) -> None:
        self.was_killed = self.process.poll() is None
        self.process.kill()

    def quit(self) -> None:
        self._terminal.press(b"q")

    def wait(self, timeout_s: float = 30) -> int:
        """Its exit status; the terminal is closed then."""
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.text[-600:]!r}") from None
        finally:
            self.close()
        if self.was_killed:
            assert status in (0, -signal.SIGKILL)
        else:
            # As documented: 5 for a run that is over or cannot be seen, 8 without a daemon.
            assert status in (0, 5, 8), f"status {status}: {self.text[-600:]!r}"
            assert "\x1b[?1049l" in self.output or status, "the terminal is not given back"
        assert "Traceback" not in self.output, self.text[-2000:]
        return status

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self.process.kill()
            self.process.wait()
            self._terminal.close()

    def pictures(self) -> Iterator[Picture]:
        """All that were drawn; half of one, by a process killed meanwhile, is none."""
        size = (0, 0)
        chunks: list[str] = []
        for keys, chunk in GRAPHICS.findall(self.output):
            pairs = dict(key.split("=") for key in keys.split(",") if "=" in key)
            if pairs.get("a") == "d":
                continue
            if pairs.get("a") == "T":
                size, chunks = (int(pairs["s"]), int(pairs["v"])), []
            chunks.append(chunk)
            if pairs["m"] == "0":
                yield Picture(*size, zlib.decompress(base64.b64decode("".join(chunks))))


def shared_memory_of(run_ids: list[str]) -> list[str]:
    names = os.listdir("/dev/shm")
    return [name for name in names if any(run_id in name for run_id in run_ids)]


def told(daemon: ChaosDaemon, run_id: str) -> str:
    """All that a run said, wherever a user would look for it."""
    files = daemon.home.run(run_id)
    logs = "".join(path.read_text() for path in files.logs.iterdir())
    return logs + journal_lines.content(files.journal).decode()
