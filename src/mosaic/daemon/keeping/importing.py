"""Takes in an archive: receives, checks and unpacks it into a parcel, and puts nothing in place."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import Origin, Transition
from mosaic.contracts.run_state import RunState
from mosaic.daemon.keeping.archive_format import CHUNK, RUN_PREFIX, ArchivedFile, refusal
from mosaic.daemon.keeping.archive_reader import ArchiveIndex, RunArchive
from mosaic.daemon.keeping.moved_paths import move_paths
from mosaic.daemon.keeping.parcel import Parcel
from mosaic.daemon.registry.entry import RunEntry
from mosaic.daemon.registry.run_file import write_row_file
from mosaic.errors import DiskSpaceError, StoreError
from mosaic.files import write_all
from mosaic.paths import Home

IMPORTED = "imported from an archive"
# So much must stay free for the runs that are there.
RESERVE = 50_000_000


class IncomingFile:
    """An archive on its way in, in a file without a meaning until it is complete."""

    def __init__(self, home: Home, announced: int) -> None:
        _check_room(home, announced)
        self.path = home.transfer / f"{os.urandom(8).hex()}.zip"
        self._announced = announced
        self._received = 0
        # Whoever sends it may go away while a thread still writes.
        self._lock = threading.Lock()
        self._is_closed = False
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def add(self, data: bytes) -> None:
        self._received += len(data)
        if self._received > self._announced:
            raise refusal(f"more than the {self._announced:,} bytes it was said to have came")
        with self._lock:
            if self._is_closed:
                return
            try:
                write_all(self._fd, data)
            except OSError as error:
                raise _no_room(error) from error

    def complete(self) -> BinaryIO:
        if self._received != self._announced:
            raise refusal(f"only {self._received:,} of {self._announced:,} bytes came")
        return os.fdopen(os.dup(self._fd), "rb")

    def close(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.close(self._fd)
                self.path.unlink(missing_ok=True)


def unpack(archive: RunArchive, parcel: Parcel, home: Home, now: float) -> RunEntry:
    """Fill the parcel; returns the entry as it shall stand in this home's registry."""
    _check_room(home, archive.index.bytes)
    parcel.create()
    parcel.run.mkdir(mode=0o700)
    archive.unpack(parcel.directory)
    documents = [path for path in parcel.run.glob("*.json") if path.name != "run.json"]
    documents += parcel.configs.glob("*.json")
    move_paths(documents, archive.index.runs_folder, home.runs)
    entry = imported_entry(archive.index, now)
    try:
        write_row_file(RunFiles(parcel.run), entry.row)
    except OSError as error:
        raise _no_room(error) from error
    return entry


def imported_entry(index: ArchiveIndex, now: float) -> RunEntry:
    """The record as it was, with a note in its history, and nothing that only held over there."""
    row = {**index.entry.row, "gpu_slots": "", "slot": None, "not_before": None, "stalled": ""}
    row["updated_at"] = now
    row["origin"] = Origin.IMPORTED.value
    row["checkpoint_uri"] = _below_the_run(str(row["checkpoint_uri"]), index)
    note = Transition(RunState.TERM, now, IMPORTED, int(str(row["attempt"])))
    return replace(index.entry, row=row, transitions=(*index.entry.transitions, note))


def _below_the_run(uri: str, index: ArchiveIndex) -> str:
    """Relative to the run's folder; a checkpoint that was elsewhere did not come along."""
    uri = uri.removeprefix(f"{index.runs_folder}/{index.run_id}/")
    return "" if uri.startswith("/") or ".." in uri.split("/") or "\0" in uri else uri


def has_same_content(directory: Path, index: ArchiveIndex) -> bool:
    """Whether a run's folder holds what the archive holds, apart from what an import rewrites."""
    return all(
        _is_same(directory / item.name.removeprefix(RUN_PREFIX), item)
        for item in index.files
        if _is_verbatim(item.name)
    )


def _is_verbatim(name: str) -> bool:
    inside = name.removeprefix(RUN_PREFIX)
    is_document = "/" not in inside and inside.endswith((".json", ".sqlite"))
    return name.startswith(RUN_PREFIX) and not is_document


def _is_same(path: Path, item: ArchivedFile) -> bool:
    digest = hashlib.sha256()
    try:
        if path.is_symlink() or path.stat().st_size != item.size:
            return False
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                digest.update(data)
    except OSError:
        return False
    return digest.hexdigest() == item.sha256


def _check_room(home: Home, needed: int) -> None:
    free = shutil.disk_usage(home.trainer).free
    if needed + RESERVE > free:
        raise DiskSpaceError(
            f"The archive needs {needed / 1e6:,.1f} MB, and {RESERVE / 1e6:.0f} MB must stay free; "
            f"{free / 1e6:,.1f} MB are free below {home.root}",
            hint="delete old runs (`mosaic clean`, `mosaic trash --empty`), then import again",
        )


def _no_room(error: OSError) -> StoreError:
    return StoreError(
        f"The archive cannot be stored: {error.strerror}", hint="free some disk space"
    )
