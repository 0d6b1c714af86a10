"""Imports an archive: receives, checks and unpacks it into a bundle, without putting it in place.

Nothing in the run's documents is started or believed; they are shown, and read by front ends. So
each must be a document of the kind that its name says, without the values of environment variables;
paths below the runs of the other home become paths below ours. What is none is left out, and a note
in the run's history says so. The journal stays as it was written: it is history, and its hash is
known.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.hostile_text import RUN_ID
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import Origin, Transition
from mosaic.contracts.run_state import RunState
from mosaic.contracts.secrets import redact_config
from mosaic.daemon.keeping.archive.bundle import (
    CHUNK,
    ENTRY_NAME,
    RUN_PREFIX,
    ArchivedFile,
    RunBundle,
    refusal,
)
from mosaic.daemon.keeping.archive.reader import ArchiveIndex, RunArchive
from mosaic.daemon.keeping.archive.writer import is_archived
from mosaic.daemon.registry.documents import RunEntry, write_row_file
from mosaic.daemon.registry.rows import RunRow
from mosaic.errors import ConfigError, DiskSpaceError, StoreError
from mosaic.files import atomic_write_json, write_all
from mosaic.foreign.files import read_plain_json
from mosaic.paths import Home
from mosaic.telemetry.ingest import ingest_whole
from mosaic.telemetry.journal.files import opened_journal, packed_path, stored_path
from mosaic.telemetry.queries import metrics_digest
from mosaic.wire.convert import record_from_proto, record_to_proto

_MAX_REASON = 200


def clean_configs(folder: Path, run_id: str) -> list[str]:
    """Rewrites the configs in this folder; returns what a person should know about them."""
    notes = []
    for path in sorted(folder.iterdir()):
        try:
            document = read_plain_json(path)
            taken = _without_secrets(document, run_id)
        except (OSError, ValueError) as error:
            path.unlink()
            notes.append(f"{path.name} was left out: {_short(error)}")
            continue
        if taken != document:
            atomic_write_json(path, taken)
        if path.name == f"config-{run_id}.json" and (problem := _config_problem(taken)):
            notes.append(f"its config would not be accepted here: {problem}")
    return notes


def _without_secrets(document: Any, run_id: str) -> dict[str, Any]:
    environment = document.get("environment", {}) if isinstance(document, dict) else None
    is_sound = isinstance(environment, dict) and all(
        isinstance(value, str) for value in environment.values()
    )
    if not is_sound:
        raise ValueError("it is no object whose environment has a text for each name")
    return redact_config(document, run_id)


def _config_problem(document: dict[str, Any]) -> str:
    try:
        parse_run_config(document)
    except ConfigError as error:
        return _short(error)
    return ""


def usable_capabilities(capabilities: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The document itself, or an empty one and why; front ends build forms from it."""
    if not capabilities:
        return {}, []
    try:
        msgspec.convert(capabilities, WorkerCapabilities)
    except (ValueError, RecursionError) as error:
        return {}, [f"its capabilities were left out: {_short(error)}"]
    return capabilities, []


def _short(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:_MAX_REASON]


_BELOW_A_RUN = re.compile(rf"/({RUN_ID.pattern})((?:/[^/\0]+)*)/?")


def move_paths(documents: list[Path], old_runs: str, new_runs: Path) -> None:
    if not old_runs.startswith("/") or old_runs == str(new_runs):
        return
    for path in documents:
        try:
            found = read_plain_json(path)
        except (OSError, ValueError):
            continue
        moved = moved_value(found, old_runs.rstrip("/"), str(new_runs))
        if moved != found:
            atomic_write_json(path, moved)


def moved_value(value: Any, old_runs: str, new_runs: str) -> Any:
    if isinstance(value, str):
        return _moved_text(value, old_runs, new_runs)
    if isinstance(value, list):
        return [moved_value(item, old_runs, new_runs) for item in value]
    if isinstance(value, dict):
        return {key: moved_value(item, old_runs, new_runs) for key, item in value.items()}
    return value


def _moved_text(text: str, old_runs: str, new_runs: str) -> str:
    if not text.startswith(old_runs + "/"):
        return text
    rest = text[len(old_runs) :]
    if not _BELOW_A_RUN.fullmatch(rest) or ".." in rest.split("/"):
        return text
    return new_runs + rest


IMPORTED = "imported from an archive"
# This much must stay free for the runs that are there.
RESERVE = 50_000_000
# Logs and journals shrink to a twentieth or a fiftieth; what shrinks further, and is not small
# anyway, was most likely made to fill a disk.
SMALL_RUN = 64_000_000
MOST_PER_BYTE = 100
LARGEST_RUN = 100_000_000_000
MAX_NOTE = 2_000
# Of a record alone; a client takes 64 MiB at most, with its config and manifest.
MAX_RECORD_BYTES = 8_000_000
# In a list, of which the same client wants thousands.
MAX_LISTED_BYTES = 64_000
# Stores are made from the journal, and run.json is written when all else is there.
_MADE_HERE = re.compile(r"run\.json|telemetry\.[^/]*sqlite[^/]*")
# Assigned by this home or not at all: a key from elsewhere may already be in use here.
_NOT_TAKEN_OVER: RunRow = {
    "client_key": None,
    "capabilities_digest": "",
    "gpu_slots": "",
    "slot": None,
    "not_before": None,
    "stalled": "",
    "revision": 0,
    "origin": Origin.IMPORTED.value,
}


class IncomingFile:
    """An archive being received, in a file that means nothing until it is complete."""

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


def unpack(
    archive: RunArchive,
    bundle: RunBundle,
    home: Home,
    now: float,
    max_bytes: int = 0,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunEntry:
    """Fill the bundle; returns the entry for this home's registry.

    Whatever can be wrong with the run is found here, before the registry hears of it.
    """
    index = archive.index
    files = imported_files(index)
    size, limit = sum(item.size for item in files), max_bytes or largest_run(archive.size)
    _check_limit(size, limit, archive.size)
    _check_room(home, size)
    bundle.create()
    bundle.run.mkdir(mode=0o700)
    archive.unpack(bundle.directory, files, should_stop)
    notes = clean_configs(bundle.configs, index.run_id)
    documents = [*bundle.run.glob("*.json"), *bundle.configs.glob("*.json")]
    move_paths(documents, index.runs_folder, home.runs)
    journal = _journal_size(RunFiles(bundle.run))
    _check_limit(size + journal, limit, archive.size)
    _check_room(home, journal)
    notes += _make_store(bundle, index, should_stop)
    entry = imported_entry(index, now, notes)
    check_shown(entry)
    try:
        write_row_file(RunFiles(bundle.run), entry.row)
    except OSError as error:
        raise _no_room(error) from error
    return entry


def imported_files(index: ArchiveIndex) -> tuple[ArchivedFile, ...]:
    """What is unpacked: all but what this home writes itself, and what belonged to a machine."""
    return tuple(item for item in index.files if _is_imported(item.name))


def _is_imported(name: str) -> bool:
    if not name.startswith(RUN_PREFIX):
        return name != ENTRY_NAME
    inside = name.removeprefix(RUN_PREFIX)
    return is_archived(inside) and not _MADE_HERE.fullmatch(inside.split("/")[0])


def largest_run(archive_size: int) -> int:
    """How many bytes an archive may become on disk, unless a person says otherwise."""
    return min(SMALL_RUN + MOST_PER_BYTE * archive_size, LARGEST_RUN)


def _check_limit(size: int, limit: int, archive_size: int) -> None:
    if size > limit:
        raise refusal(
            f"it has {archive_size / 1e6:,.1f} MB and would become {size / 1e6:,.1f} MB; "
            f"{limit / 1e6:,.1f} MB is the limit",
            hint="if you know where it came from, say how large it may become: "
            f"`mosaic import --max-size {math.ceil(size / 1e6)}MB FILE`",
        )


def _journal_size(files: RunFiles) -> int:
    """What a packed journal has when it is read; a plain one is as long as its file."""
    if files.journal.exists() or not packed_path(files.journal).exists():
        return 0
    with opened_journal(files.journal) as journal:
        return journal.size


def _make_store(
    bundle: RunBundle, index: ArchiveIndex, should_stop: Callable[[], bool]
) -> list[str]:
    """The store that came along is never opened: the journal says the same, and is only text."""
    files = RunFiles(bundle.run)
    had_store = any(item.name == RUN_PREFIX + files.telemetry.name for item in index.files)
    if not stored_path(files.journal).exists():
        lost = "its journal is missing, and with it all metrics, episodes and steps"
        return [lost] if had_store else []
    report = ingest_whole(index.run_id, files.journal, files.telemetry, should_stop)
    if report is None:
        raise StoreError("The daemon stops", hint="import the archive again")
    row, notes = index.entry.row, []
    unread = report.quarantined_total - int(str(row["quarantined_lines"]))
    if unread > 0:
        notes.append(f"lines of its journal that cannot be read: {unread:,}")
    if row["metrics_digest"] and metrics_digest(files.telemetry) != row["metrics_digest"]:
        notes.append("its journal does not hold the metrics that its record was made of")
    return notes


def imported_entry(index: ArchiveIndex, now: float, notes: Sequence[str]) -> RunEntry:
    """The record as it was, with a note in its history, without what only held in its old home."""
    capabilities, problems = usable_capabilities(index.entry.capabilities)
    row = {**index.entry.row, **_NOT_TAKEN_OVER}
    row["updated_at"] = now
    row["checkpoint_uri"] = _below_the_run(str(row["checkpoint_uri"]), index)
    reason = "; ".join([IMPORTED, *notes, *problems])[:MAX_NOTE]
    note = Transition(RunState.TERM, now, reason, int(str(row["attempt"])))
    return RunEntry(row, (*index.entry.transitions, note), capabilities)


def check_shown(entry: RunEntry) -> None:
    """Raise unless the record reaches a client as it is, alone and in a list of thousands."""
    record = entry.record()
    try:
        message = record_to_proto(record)
        is_same = record_from_proto(message) == record
        listed = record_to_proto(replace(record, transitions=(), capabilities={})).ByteSize()
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal(f"its record cannot be shown ({error})") from error
    if not is_same:
        raise refusal("its record cannot be shown as it is")
    if listed > MAX_LISTED_BYTES or message.ByteSize() > MAX_RECORD_BYTES:
        raise refusal(
            f"its record has {message.ByteSize():,} bytes, {listed:,} of them in every list; "
            f"{MAX_RECORD_BYTES:,} and {MAX_LISTED_BYTES:,} are the limits"
        )


def _below_the_run(uri: str, index: ArchiveIndex) -> str:
    """Relative to the run's folder; a checkpoint that was elsewhere did not come along."""
    uri = uri.removeprefix(f"{index.runs_folder}/{index.run_id}/")
    return "" if uri.startswith("/") or ".." in uri.split("/") or "\0" in uri else uri


def has_same_content(directory: Path, index: ArchiveIndex) -> bool:
    """Whether a run's folder holds what the archive holds, apart from what an import rewrites."""
    return all(
        _is_same(directory / item.name.removeprefix(RUN_PREFIX), item)
        for item in imported_files(index)
        if _is_verbatim(item.name)
    )


def _is_verbatim(name: str) -> bool:
    inside = name.removeprefix(RUN_PREFIX)
    is_document = "/" not in inside and inside.endswith(".json")
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
