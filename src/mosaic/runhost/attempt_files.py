"""Reads what is in an attempt's folder and believes none of it; sets aside what cannot be used.

The worker shares our user and can put anything under these names: garbage, a link, a FIFO, the
file of another run. The contents are judged in `mosaic.contracts.run_files`, the rest here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mosaic.contracts.run_files import (
    MAX_RECORD_BYTES,
    AttemptFiles,
    ClaimRecord,
    ExitRecord,
    LiveRecord,
)
from mosaic.errors import CorruptStoreError
from mosaic.files import read_bounded
from mosaic.foreign_json import parse_json

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
