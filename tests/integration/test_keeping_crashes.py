"""Deleting, restoring, emptying and importing, killed at every step: the next start heals it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S


@pytest.mark.parametrize(
    ("operation", "ends"),
    [
        ("delete", ["there", "in the trash"]),
        ("delete_for_good", ["there", "in the trash", "gone"]),
        ("restore", ["in the trash", "there"]),
        ("empty", ["in the trash", "gone"]),
        ("import", ["gone", "there"]),
    ],
)
def test_a_kill_at_any_step_leaves_a_whole_run_or_none(operation: str, ends: list[str]) -> None:
    # In memory where there is such a place: this is about a process that dies, not about a disk.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="keeping-test-", dir=memory if memory.is_dir() else None
    ) as folder:
        done = crashed(operation, folder)
    assert done.returncode == 0, done.stderr
    verdicts = [line.split(" ", 1)[1] for line in done.stdout.splitlines()]
    # Each way it can end was seen, in this order, with no way back.
    assert list(dict.fromkeys(verdicts)) == ends
    assert verdicts == sorted(verdicts, key=ends.index)


def crashed(operation: str, folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.integration.keeping_crashes", operation, folder],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
