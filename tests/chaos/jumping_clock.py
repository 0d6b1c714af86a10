"""A wall clock that jumps by days for chosen processes only; the machine's own is never touched.

Not with libfaketime: it also replaces the calls that wait, and breaks Python's `subprocess`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("jumping_clock.c")
DAY_S = 86_400


@dataclass(frozen=True)
class JumpingClock:
    """Processes started with `environment` follow every `jump`."""

    environment: dict[str, str]
    file: Path

    def jump(self, seconds: int) -> None:
        """To so many seconds after the real time, or before it."""
        draft = self.file.with_suffix(".new")
        draft.write_text(f"{seconds}\n")
        draft.replace(self.file)


def make_jumping_clock(folder: Path) -> JumpingClock:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is installed to build a clock that jumps")
    library, file = folder / "jumping_clock.so", folder / "clock"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    subprocess.run(command, check=True)
    clock = JumpingClock({"LD_PRELOAD": str(library), "CHAOS_CLOCK_FILE": str(file)}, file)
    clock.jump(DAY_S)
    # A clock that does not jump would prove nothing.
    assert abs(_seconds(clock.environment) - _seconds({}) - DAY_S) < 60
    clock.jump(0)
    return clock


def _seconds(environment: dict[str, str]) -> int:
    command = ["date", "+%s"]
    environment = {**os.environ, **environment}
    return int(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
