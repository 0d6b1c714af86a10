"""Installs of bundles that are killed, run out of disk, or may not write: whole or absent."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mosaic.bundles.locks import Lock
from mosaic.bundles.venv_store import build_folder, log_of, python_of, try_lock, unlock
from mosaic.contracts.bundles import VenvState
from mosaic.errors import BundleError
from tests.chaos.extent import extent
from tests.chaos.figures import record
from tests.chaos.small_disk import mounted_tmpfs
from tests.support.bundle_builds import TOOLS, Builds, end_of, lock_of
from tests.support.tiny_wheels import make_wheel
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.chaos

MB = 2**20
IMPORTS = ("alpha", "beta.shown", "gamma.part_7")


def kill_after(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def kill_at_line(process: subprocess.Popen[bytes], number: int, seconds: float) -> None:
    """A moment after it has told something for the so-and-so-many-th time."""
    assert process.stdout is not None
    for _ in range(number):
        if not process.stdout.readline():
            break
    kill_after(process, seconds)


def outcome(builds: Builds, lock: Lock) -> str:
    """What is at the place of the venv; fails unless that is nothing, or all of it."""
    target = builds.target(lock)

    def lock_is_free() -> bool:
        fd = try_lock(target)
        if fd is not None:
            unlock(target, fd)
        return fd is not None

    wait_until(lock_is_free, what="the end of what the killed program had started")
    state = builds.store.state(target)
    if state is VenvState.ABSENT:
        return "absent"
    assert state is VenvState.INSTALLED, builds.store.info(target).problem
    assert builds.store.verify(target) == []
    command = [str(python_of(target)), "-I", "-c", "import " + ", ".join(IMPORTS)]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    return "whole"


@pytest.mark.blocks_merge
def test_an_install_that_is_killed_at_any_instant_is_whole_or_absent(tmp_path: Path) -> None:
    dice = random.Random(17)
    kills = extent(40, 8)
    seen: Counter[str] = Counter()
    ways = {tool: Builds(tmp_path / tool, tool) for tool in TOOLS}
    locks, seconds, lines = {}, {}, {}
    for tool, builds in ways.items():
        names = ("alpha", "beta", "gamma", "delta")
        wheels = [make_wheel(builds.wheels, name, files=40, ballast=200_000) for name in names]
        locks[tool] = lock_of(wheels)
        for _ in range(2):  # the second time nothing has to be read from the disk
            started = time.monotonic()
            told = end_of(
                builds.start(locks[tool].text, builds.target(locks[tool]), IMPORTS), PATIENCE_S
            )
            seconds[tool], lines[tool] = time.monotonic() - started, len(told)
            assert outcome(builds, locks[tool]) == "whole", told[-1]
            builds.store.remove(builds.target(locks[tool]), lambda path: False)
    late = number = 0
    while sum(seen.values()) < kills:
        number += 1
        tool = TOOLS[number % len(TOOLS)]
        builds, lock = ways[tool], locks[tool]
        process = builds.start(lock.text, builds.target(lock), IMPORTS)
        if number // len(TOOLS) % 2:
            kill_at_line(process, dice.randint(1, lines[tool]), dice.uniform(0, 0.03))
        else:
            kill_after(process, dice.uniform(0, seconds[tool]))
        end_of(process, PATIENCE_S)
        found = outcome(builds, lock)
        if process.returncode == -signal.SIGKILL:
            seen[found] += 1
        else:
            late += 1
            assert found == "whole"
        # Half of the time the next install finds what this one left, half of the time it is swept.
        if dice.random() < 0.5:
            builds.store.sweep()
            assert set(builds.left()) <= {log_of(builds.target(lock)).name}
        if found == "whole":
            builds.store.remove(builds.target(lock), lambda path: False)
    for tool, builds in ways.items():
        lock = locks[tool]
        end_of(builds.start(lock.text, builds.target(lock), IMPORTS), PATIENCE_S)
        assert outcome(builds, lock) == "whole" and builds.left() == []
    counts = ", ".join(f"{count} {what}" for what, count in sorted(seen.items()))
    record(
        "17",
        f"kill -9 of an install ({', '.join(TOOLS)}) — {kills} kills: {counts}, 0 torn"
        f" ({late} more had ended before)",
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_a_disk_that_runs_full_during_an_install_leaves_nothing(tmp_path: Path, tool: str) -> None:
    outcomes: Counter[str] = Counter()
    wheels = tmp_path / "wheels"
    # The lock understates them, or the install would not even begin.
    made = [
        replace(make_wheel(wheels, name, ballast=3 * MB, files=40), size=1)
        for name in ("alpha", "beta", "gamma", "delta")
    ]
    lock = lock_of(made)
    for left_mb in (0, 5, 10, 20, 48):
        with mounted_tmpfs("size=64m") as disk:
            builds = Builds(tmp_path, tool, home=disk / "home")
            target = builds.target(lock)
            process = builds.start(lock.text, target, IMPORTS)
            # It began with room enough; now somebody else takes most of that.
            wait_until((build_folder(target) / "venv").exists, what="a build that has begun")
            with (disk / "filler").open("wb") as file, contextlib.suppress(OSError):
                file.write(b"\0" * ((62 - left_mb) * MB))
            last = end_of(process, PATIENCE_S)[-1]
            found = outcome(builds, lock)
            outcomes[found] += 1
            assert (last.fraction == 1.0) == (found == "whole"), last
            if found == "absent":
                assert "disk" in last.message or "room" in last.message, last
                assert last.hint
                assert set(builds.left()) <= {log_of(target).name}
    assert outcomes["absent"] and outcomes["whole"]
    counts = ", ".join(f"{count} {what}" for what, count in sorted(outcomes.items()))
    record("17", f"disk that runs full during an install with {tool}: {counts}; 0 torn")


def test_too_little_room_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    with mounted_tmpfs("size=16m") as disk:
        builds = Builds(tmp_path, home=disk / "home")
        lock = lock_of([make_wheel(builds.wheels, "alpha")])
        with pytest.raises(BundleError, match=r"learner needs about .* MB are free") as caught:
            builds.build(lock)
        assert "mosaic bundles prune" in caught.value.hint
        assert builds.store.paths() == []


def test_a_home_that_is_read_only_is_said(tmp_path: Path) -> None:
    with mounted_tmpfs("size=64m") as disk:
        builds = Builds(tmp_path, home=disk / "home")
        lock = lock_of([make_wheel(builds.wheels, "alpha")])
        builds.store.folder.mkdir(parents=True)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(BundleError, match="Read-only file system") as caught:
            builds.build(lock)
        assert str(builds.store.folder) in caught.value.hint
