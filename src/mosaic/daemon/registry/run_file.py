"""run.json: what the registry knows of a run that no other file of the run says.

It is written before the run's row is committed, and once more when the run is over. A registry
that is lost can so be rebuilt from the runs' directories, with the right names and outcomes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.daemon.registry.row_checksum import row_checksum
from mosaic.daemon.registry.rows import (
    RUN_COLUMNS,
    YOUNGER_COLUMNS,
    RunRow,
    row_of,
    storable,
)
from mosaic.files import atomic_write_json, make_directory

# Version 1 knew neither pins nor groups.
RUN_FILE_VERSION = 2


@dataclass(frozen=True)
class NewRun:
    """A run about to be created; `record` is as its submitter described it."""

    record: RunRecord
    # The same key always means the same run, however often it is submitted.
    client_key: str | None = None
    config_digest: str = ""


def write_run_file(files: RunFiles, new: NewRun) -> None:
    """Must happen before `Registry.create_run`: recovery relies on every run having this file."""
    make_directory(files.directory, mode=0o700)
    write_row_file(files, row_of(new.record, new.client_key, new.config_digest))


def write_row_file(files: RunFiles, row: RunRow) -> None:
    """Fails when the directory is gone: a run deleted meanwhile must not come back."""
    document = {
        "version": RUN_FILE_VERSION,
        "run": row,
        "checksum": _checksum(row),
    }
    atomic_write_json(files.record, document)


def read_run_file(files: RunFiles, run_id: str = "") -> RunRow | None:
    """The row as it was written, or None when the file is missing or damaged.

    The folder is named after its run, except in a parcel: then `run_id` says whose it must be.
    """
    try:
        document: Any = json.loads(files.record.read_bytes())
        version, stored = document["version"], document["run"]
        if version not in (1, RUN_FILE_VERSION):
            return None
        younger = YOUNGER_COLUMNS if version == 1 else {}
        known = [name for name in RUN_COLUMNS if name not in younger]
        row: RunRow = {name: storable(name, stored[name]) for name in known}
        if document["checksum"] != _checksum(row) or row["run_id"] != (
            run_id or files.directory.name
        ):
            return None
        RunState(str(row["state"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return {**row, **younger}


def _checksum(row: RunRow) -> str:
    return row_checksum(item for pair in sorted(row.items()) for item in pair).hex()
