"""run.json: what the registry knows of a run that no other file of the run says.

It is written before the run's row is committed, and once more when the run is over. A registry
that is lost can so be rebuilt from the runs' directories, with the right names and outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.registry.columns import RUN_COLUMNS, YOUNGER_COLUMNS, row_problem
from mosaic.daemon.registry.row_checksum import row_checksum
from mosaic.daemon.registry.rows import RunRow, row_of
from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write_json, make_directory, read_json

RUN_FILE_VERSION = 4
# What files of earlier versions do not have.
_YOUNGER = {
    1: ("pinned", "group_name", "origin", "overall_steps_per_second"),
    2: ("origin", "overall_steps_per_second"),
    3: ("overall_steps_per_second",),
    RUN_FILE_VERSION: (),
}


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


def read_run_file(files: RunFiles, run_id: str = "") -> RunRow:
    """The row as it was written; raises CorruptStoreError, which says what is wrong with it.

    The folder is named after its run, except in a parcel: then `run_id` says whose it must be.
    """
    name = files.record.name
    try:
        document: Any = read_json(files.record)
        if document is None:
            raise CorruptStoreError(f"{name} is missing")
        stored, checksum = document["run"], document["checksum"]
        younger = {column: YOUNGER_COLUMNS[column] for column in _YOUNGER[document["version"]]}
        known = [column for column in RUN_COLUMNS if column not in younger]
        row: RunRow = {**{column: stored[column] for column in known}, **younger}
    except OSError as error:
        raise CorruptStoreError(f"{name} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptStoreError(f"{name} is no record of a run") from error
    if problem := row_problem(row):
        raise CorruptStoreError(f"{name}: {problem}")
    if checksum != _checksum({column: row[column] for column in known}):
        raise CorruptStoreError(f"{name} does not match its checksum")
    if row["run_id"] != (run_id or files.directory.name):
        raise CorruptStoreError(f"{name} speaks of the run {row['run_id']}")
    return row


def _checksum(row: RunRow) -> str:
    return row_checksum(item for pair in sorted(row.items()) for item in pair).hex()
