"""SampleHome: a home with a daemon and real runs, which is gone when the pictures are taken."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic.paths import Home

_MOSAIC = Path(sys.executable).with_name("mosaic")
_PROGRAMS = Path(__file__).with_name("programs")
# As of a workstation: several runs at once, and one that asks for all of it has to wait.
CPUS = 8
_MACHINE = {"MOSAIC_CPUS": str(CPUS), "MOSAIC_MEMORY_MB": "32768", "MOSAIC_MIN_FREE_MB": "1"}
_POLL_S = 0.3


class SampleHome:
    """A context: `with SampleHome() as home`."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mosaic-"))
        self.home = Home(self._folder / "home")
        self.scripts = self._folder / "scripts"
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("MOSAIC_", "WANDB_"))}
        # A script that is watched finds `python` where everybody has it: on the path.
        bin_folder = str(Path(sys.executable).parent)
        path = os.pathsep.join((bin_folder, variables.get("PATH", os.defpath)))
        self._variables = {**variables, **_MACHINE, "PATH": path, "WANDB_MODE": "offline"}

    def __enter__(self) -> SampleHome:
        shutil.copytree(_PROGRAMS, self.scripts)
        self.mosaic("daemon", "start")
        return self

    def __exit__(self, *_: object) -> None:
        # One that was stopped for a picture comes back first: only a daemon finds its runs.
        self.mosaic("daemon", "start", must_succeed=False)
        self.mosaic("daemon", "stop", "--kill-runs", must_succeed=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def mosaic(self, *words: str, must_succeed: bool = True) -> str:
        done = subprocess.run(
            [str(_MOSAIC), "--home", str(self.home.root), *words],
            env=self._variables,
            cwd=self.scripts,
            capture_output=True,
            text=True,
            timeout=120,
        )
        if must_succeed and done.returncode:
            raise RuntimeError(f"mosaic {' '.join(words)}: {done.stderr or done.stdout}")
        return done.stdout

    def start(self, *words: str) -> list[str]:
        """The ids of the runs that this starts."""
        command, *rest = words
        return self.mosaic(command, "--detach", *rest).split()

    def states(self) -> dict[str, str]:
        runs = json.loads(self.mosaic("runs", "--all", "--json"))
        return {run["run_id"]: run["state"] for run in runs}

    def wait_for(self, run_ids: Sequence[str], seconds: float = 120) -> None:
        """Until they are over, however they ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            states = self.states()
            if all(states.get(run_id) == "TERM" for run_id in run_ids):
                return
            time.sleep(_POLL_S)
        raise TimeoutError(f"still going after {seconds:g} s: {self.states()}")
