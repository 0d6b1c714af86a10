"""The install program: one line of progress after the other, cancel, and the end of its parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.bundles.install_program import ProgramRequest
from mosaic.bundles.venv_store import build_folder, try_lock, unlock
from mosaic.contracts.bundles import InstallPhase, InstallProgress, VenvState
from tests.support.bundle_builds import PROGRAM, TOOLS, Builds, end_of, lock_of, phases
from tests.support.tiny_wheels import lock_text, make_wheel
from tests.support.wheel_index import WheelIndex
from tests.waiting import PATIENCE_S, wait_until

PARENT = """
import os, subprocess, sys
program = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
program.stdin.write(sys.argv[1].replace('"parent": 0', f'"parent": {os.getpid()}').encode())
program.stdin.close()
print(program.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[WheelIndex]:
    with WheelIndex(tmp_path / "wheels") as index:
        yield index


@pytest.fixture(params=TOOLS)
def builds(request: pytest.FixtureRequest, tmp_path: Path) -> Builds:
    return Builds(tmp_path, request.param)


def is_free(target: Path) -> bool:
    fd = try_lock(target)
    if fd is not None:
        unlock(target, fd)
    return fd is not None


def test_two_installs_at_once_are_one_build_and_one_that_waits_for_it(
    builds: Builds, index: WheelIndex
) -> None:
    lock = lock_of([make_wheel(builds.wheels, "alpha", ballast=100_000)])
    target = builds.target(lock)
    builds.index_url = index.url
    index.goes_on.clear()
    first = builds.start(lock.text, target, ["alpha"])
    assert index.has_sent_half.wait(PATIENCE_S)
    second = builds.start(lock.text, target, ["alpha"])
    assert second.stdout is not None
    waiting = InstallProgress.from_dict(json.loads(second.stdout.readline()))
    assert waiting.phase is InstallPhase.WAITING
    assert builds.store.state(target) is VenvState.INSTALLING
    index.goes_on.set()
    told = end_of(first, PATIENCE_S)
    assert told[-1].phase is InstallPhase.DONE and InstallPhase.BUILDING in phases(told)
    assert set(phases(end_of(second, PATIENCE_S))) <= {InstallPhase.WAITING, InstallPhase.DONE}
    assert (first.returncode, second.returncode) == (0, 0)
    assert builds.store.paths() == [target] and builds.left() == []
    assert builds.store.verify(target) == []


def test_a_canceled_install_leaves_nothing(builds: Builds, index: WheelIndex) -> None:
    lock = lock_of([make_wheel(builds.wheels, "alpha", ballast=1_000_000)])
    target = builds.target(lock)
    builds.index_url = index.url
    index.goes_on.clear()
    process = builds.start(lock.text, target)
    assert index.has_sent_half.wait(PATIENCE_S)
    assert build_folder(target).is_dir()
    process.terminate()
    told = end_of(process, PATIENCE_S)
    assert told[-1].phase is InstallPhase.CANCELED
    assert builds.left() == [] and builds.store.paths() == []
    assert builds.store.state(target) is VenvState.ABSENT


def test_an_install_ends_with_the_process_that_started_it(
    tmp_path: Path, index: WheelIndex
) -> None:
    builds = Builds(tmp_path, TOOLS[-1], index.url)
    lock = lock_of([make_wheel(builds.wheels, "alpha", ballast=1_000_000)])
    target = builds.target(lock)
    index.goes_on.clear()
    request = ProgramRequest(lock.text, str(target), sys.executable).to_json().decode()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, request, *PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=builds.environment,
    )
    assert parent.stdin is not None and parent.stdout is not None
    with parent.stdin, parent.stdout:
        program = int(parent.stdout.readline())
        assert index.has_sent_half.wait(PATIENCE_S)
        parent.kill()
        parent.wait()
    wait_until(lambda: not Path(f"/proc/{program}").exists() or is_zombie(program))
    wait_until(lambda: is_free(target), what="a lock that nobody holds")
    assert builds.left() == [] and builds.store.paths() == []


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_killed_install_leaves_what_the_next_one_clears_away(
    builds: Builds, index: WheelIndex
) -> None:
    lock = lock_of([make_wheel(builds.wheels, "alpha", ballast=1_000_000)])
    target = builds.target(lock)
    builds.index_url = index.url
    index.goes_on.clear()
    process = builds.start(lock.text, target)
    assert index.has_sent_half.wait(PATIENCE_S)
    os.killpg(process.pid, signal.SIGKILL)
    end_of(process, PATIENCE_S)
    wait_until(lambda: is_free(target), what="the end of the tool")
    assert builds.store.state(target) is VenvState.ABSENT
    assert build_folder(target).is_dir()
    index.goes_on.set()
    assert end_of(builds.start(lock.text, target, ["alpha"]), PATIENCE_S)[-1].fraction == 1.0
    assert builds.left() == [] and builds.store.verify(target) == []


def test_a_lock_that_was_edited_is_refused_with_what_to_do(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    wheel = make_wheel(builds.wheels, "alpha")
    text = lock_text([wheel]).replace(wheel.sha256, "0" * 64)
    process = builds.start(text, tmp_path / "venvs" / "learner-0")
    last = end_of(process, PATIENCE_S)[-1]
    assert process.returncode == 1 and last.phase is InstallPhase.FAILED
    assert "changed by hand" in last.message and last.hint
    assert not (tmp_path / "venvs").exists()


def test_what_is_packed_installs_without_any_index(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    wheels = [make_wheel(builds.wheels, name, ballast=1000) for name in ("alpha", "beta")]
    lock = lock_of(wheels)
    folder = tmp_path / "on a stick"
    process = builds.start(lock.text, folder, action="pack")
    told = end_of(process, PATIENCE_S)
    assert told[-1].phase is InstallPhase.DONE, told[-1]
    copy = f"learner-py{lock.python.replace('.', '')}-cpu.txt"
    assert {path.name for path in folder.iterdir()} == {copy, *(item.path.name for item in wheels)}
    assert (folder / copy).read_text() == lock.text

    for wheel in wheels:
        wheel.path.unlink()
    for tool in TOOLS:
        other = Builds(tmp_path / tool, tool)
        path = other.build(lock, ["alpha", "beta"], from_folder=folder)
        assert other.store.verify(path) == [] and other.left() == []
