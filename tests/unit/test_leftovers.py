"""The check that runs after every file of tests finds what it is there to find."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.leftovers import MARK, Snapshot, await_nothing_new, new_since

WAITS_FOR_INPUT = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def before() -> Iterator[Snapshot]:
    """And after each of these tests, too, nothing may be left."""
    snapshot = Snapshot.take()
    yield snapshot
    assert await_nothing_new(snapshot) == []


def test_an_open_file_is_named(before: Snapshot, tmp_path: Path) -> None:
    with open(tmp_path / "journal", "w"):
        (found,) = new_since(before)
    assert found == f"descriptor of {tmp_path / 'journal'}"


def test_the_same_file_open_twice_is_not_hidden_by_the_first(tmp_path: Path) -> None:
    with open(tmp_path / "journal", "w"):
        snapshot = Snapshot.take()
        with open(tmp_path / "journal"):
            assert len(new_since(snapshot)) == 1
        assert new_since(snapshot) == []


def test_a_thread_is_named_until_it_ends(before: Snapshot) -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait, name="forgotten")
    thread.start()
    try:
        assert new_since(before) == ["thread 'forgotten'"]
    finally:
        end.set()
    # Told to end, it needs no one to join it.
    assert await_nothing_new(before) == []


def test_a_child_is_named_while_it_runs(before: Snapshot) -> None:
    with subprocess.Popen(WAITS_FOR_INPUT, stdin=subprocess.PIPE, env={}) as child:
        running = [line for line in new_since(before) if line.startswith("process")]
        assert running == [f"process {child.pid}: {' '.join(WAITS_FOR_INPUT)}"]


def test_an_orphan_of_a_child_is_found_by_what_it_inherited(before: Snapshot) -> None:
    """Its parent is gone, and whoever takes its place is none of us."""
    # Its output goes elsewhere, or whoever reads that of the parent would wait for it.
    start = (
        "import subprocess as s, sys; print(s.Popen(sys.argv[1:], stdout=s.DEVNULL, "
        "stderr=s.DEVNULL).pid)"
    )
    reading, writing = os.pipe()
    command = [sys.executable, "-I", "-S", "-W", "ignore", "-c", start, *WAITS_FOR_INPUT]
    parent = subprocess.run(command, stdin=reading, capture_output=True, text=True, check=True)
    os.close(reading)
    try:
        orphan = int(parent.stdout)
        assert MARK in os.environ
        assert any(line.startswith(f"process {orphan}: ") for line in new_since(before))
    finally:
        os.close(writing)


def test_shared_memory_is_named_while_it_exists(before: Snapshot) -> None:
    path = Path("/dev/shm", f"mosaic.test-leftovers-{os.getpid()}")
    path.write_bytes(b"frames")
    try:
        assert new_since(before) == [f"shared memory {path}"]
    finally:
        path.unlink()


def test_shared_memory_of_another_process_is_none_of_ours(before: Snapshot) -> None:
    path = Path("/dev/shm", f"mosaic.test-leftovers-elsewhere-{os.getpid()}")
    code = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(path)], check=True)
    try:
        assert new_since(before) == []
    finally:
        path.unlink()
