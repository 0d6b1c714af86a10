"""What is in an attempt's folder: written atomically, read without trusting any of it.

The worker shares our user and can put anything under these names: garbage, a link, a FIFO, the file
of another run. The contents are checked in `mosaic.contracts.run_files`, the rest here; what cannot
be used is set aside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.run_files import (
    MAX_RECORD_BYTES,
    AttemptFiles,
    AttemptSpec,
    ClaimRecord,
    ExitRecord,
    LiveRecord,
)
from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write_json, read_bounded
from mosaic.foreign.files import parse_json
from mosaic.processes import identity_of

if TYPE_CHECKING:
    from mosaic.runhost.spawning import Launch


_MAX_REFUSED = 1000


def read_claim(files: AttemptFiles) -> ClaimRecord | None:
    """None when nobody has claimed it; this one and the others raise CorruptStoreError."""
    data = _document(files.claim)
    return None if data is None else ClaimRecord.from_dict(data)


def read_live(files: AttemptFiles) -> LiveRecord | None:
    data = _document(files.live)
    return None if data is None else LiveRecord.from_dict(data)


def read_exit(files: AttemptFiles, run_id: str, attempt: int) -> ExitRecord | None:
    data = _document(files.exit)
    if data is None:
        return None
    record = ExitRecord.from_dict(data)
    if (record.run_id, record.attempt) != (run_id, attempt):
        raise CorruptStoreError("exit.json: it is that of another attempt")
    return record


def set_aside(path: Path) -> Path | None:
    """Rename what is there, whatever it is; None when there is nothing, or it cannot be moved."""
    for number in range(1, _MAX_REFUSED):
        refused = path.with_name(f"{path.name}.refused-{number}")
        if not os.path.lexists(refused):
            try:
                return path.rename(refused)
            except OSError:
                return None
    return None


def was_set_aside(path: Path) -> bool:
    return os.path.lexists(path.with_name(f"{path.name}.refused-1"))


def _document(path: Path) -> dict[str, Any] | None:
    text = read_bounded(path, MAX_RECORD_BYTES)
    if text is None:
        return None
    try:
        document = parse_json(text)
    except ValueError as error:
        raise CorruptStoreError(f"{path.name}: it is no JSON document") from error
    if not isinstance(document, dict):
        raise CorruptStoreError(f"{path.name}: it is no JSON object")
    return document


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
    """Yields the time to wait before the next try, until it is written: no exit is ever lost."""
    while True:
        try:
            _put(path, record.to_dict())
            return
        except OSError:
            if not path.parent.is_dir():
                return  # the run was deleted; there is nobody left to tell
            yield DISK_RETRY_S


def _put(path: Path, document: dict[str, Any]) -> None:
    """A folder under that name, which only a worker can have made, could not be replaced."""
    if path.is_dir() and not path.is_symlink():
        set_aside(path)
    atomic_write_json(path, document)
