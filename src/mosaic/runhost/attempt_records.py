"""live.json and exit.json: the two documents an attempt leaves for the daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mosaic.contracts.run_files import AttemptSpec, ExitRecord, LiveRecord
from mosaic.files import atomic_write_json
from mosaic.processes import identity_of
from mosaic.runhost.attempt_files import set_aside
from mosaic.runhost.launch import Launch

DISK_RETRY_S = 0.5


def write_live(path: Path, spec: AttemptSpec, launch: Launch) -> None:
    """Raises OSError when there is no room; the worker goes on and the caller tries again."""
    host = identity_of(os.getpid())
    worker = identity_of(launch.worker.pid) if launch.worker else None
    assert host is not None
    assert worker is not None, "a child that nobody reaped is always in /proc"
    record = LiveRecord(
        host=host,
        worker=worker,
        control_socket=spec.control_socket,
        started_at=launch.started_at,
        containment="cgroup" if launch.groups.can_kill else "subreaper",
    )
    _put(path, record.to_dict())


def write_exit(path: Path, record: ExitRecord) -> Iterator[float]:
    """Yields how long to wait before the next try, until it is written: no exit is ever lost."""
    while True:
        try:
            _put(path, record.to_dict())
            return
        except OSError:
            if not path.parent.is_dir():
                return  # the run was deleted under us; there is nobody left to tell
            yield DISK_RETRY_S


def _put(path: Path, document: dict[str, Any]) -> None:
    """A folder under that name, which only a worker can have made, could not be replaced."""
    if path.is_dir() and not path.is_symlink():
        set_aside(path)
    atomic_write_json(path, document)
