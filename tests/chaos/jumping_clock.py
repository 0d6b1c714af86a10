"""A wall clock that jumps by days for chosen processes only; the machine's own is never touched."""

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
    unit: str

    def jump(self, seconds: int) -> None:
        """To so many seconds after the real time, or before it."""
        draft = self.file.with_suffix(".new")
        draft.write_text(f"{seconds:+d}{self.unit}\n")
        draft.replace(self.file)


def make_jumping_clock(folder: Path) -> JumpingClock:
    """By `faketime` where it is installed, else by a library of our own; skips without either."""
    file = folder / "clock"
    if shutil.which("faketime"):
        command = ["faketime", "-f", "+0s", "printenv", "LD_PRELOAD"]
        library = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        environment = {
            "LD_PRELOAD": library.strip(),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        clock = JumpingClock(environment, file, "s")
    elif compiler := shutil.which("cc") or shutil.which("gcc"):
        library_file = folder / "jumping_clock.so"
        command = [compiler, "-shared", "-fPIC", "-o", str(library_file), str(SOURCE)]
        subprocess.run(command, check=True)
        environment = {"LD_PRELOAD": str(library_file), "CHAOS_CLOCK_FILE": str(file)}
        clock = JumpingClock(environment, file, "")
    else:
        pytest.skip("neither faketime nor a C compiler is installed")
    clock.jump(0)
    _check(clock)
    return clock


def _check(clock: JumpingClock) -> None:
    """A clock that does not jump would prove nothing."""
    clock.jump(DAY_S)
    seen = subprocess.run(
        ["date", "+%s"],
        env={**os.environ, **clock.environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    real = subprocess.run(["date", "+%s"], check=True, capture_output=True, text=True).stdout
    assert abs(int(seen) - int(real) - DAY_S) < 60
    clock.jump(0)
