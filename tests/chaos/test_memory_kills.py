"""The kernel kills a worker for its memory, for real."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.chaos_daemon import chaos_daemon
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

EATER = """
import sys
open(sys.argv[1] + '/cgroup.procs', 'w').write('0')
kept = []
while True:
    kept.append(b'x' * 10**6)
"""


@contextlib.contextmanager
def memory_group(limit_mb: int) -> Iterator[Path]:
    """A control group that a process can move itself into; skips where there can be none."""
    for parent, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = parent / f"mosaic-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / limit).write_text(str(limit_mb << 20))
            with contextlib.suppress(OSError):  # swapping would only make it slow
                (group / "memory.swappiness").write_text("0")
            break
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
    else:
        pytest.skip("no control group with a memory limit can be made here")
    try:
        yield group
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text(), 10, "an empty group")
        group.rmdir()


def test_a_kill_by_the_kernel_for_lack_of_memory_is_told_as_such_and_not_tried_again() -> None:
    with memory_group(64) as group, chaos_daemon() as daemon:
        changes = {
            "resources": {"cpus": 1, "memory_mb": 4096},
            "retry": {"max_attempts": 3, "backoff_seconds": 0.0},
        }
        run_id = daemon.submit_python(EATER, str(group), **changes)
        record = daemon.wait_over(run_id, 60)
        assert (record.failure_reason, record.signal, record.attempt) == ("host_memory", 9, 1)
        assert record.failure is not None
        assert "the kernel killed the worker" in record.failure.message
        # The kernel's count rose before this one began, and so is not held against it.
        killed = daemon.submit_python("import os; os.kill(os.getpid(), 9)")
        assert daemon.wait_over(killed).failure_reason == "signal_9"
