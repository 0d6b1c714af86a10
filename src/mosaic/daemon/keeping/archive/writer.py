"""Writes a run as an archive, piece by piece: memory does not grow with the run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import stat
import threading
import time
import zipfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

from mosaic import __version__
from mosaic.daemon.keeping.archive.bundle import (
    ARCHIVE_VERSION,
    CHUNK,
    COMMENT,
    CONFIG_PREFIX,
    DIGEST_LENGTH,
    ENTRY_NAME,
    INDEX_NAME,
    RUN_PREFIX,
    ArchivedFile,
    config_files,
    files_below,
    is_place_in_run,
)
from mosaic.daemon.registry.documents import RunEntry
from mosaic.errors import StoreError
from mosaic.foreign.files import open_regular
from mosaic.paths import Home

SAMPLE = 64 * 1024
# Deflating what hardly shrinks wastes time.
WORTH_IT = 0.95
ZIP64_FROM = 1 << 30
# Into the archive and its members, none of which is a file on disk here.
_WRITE: Literal["w"] = "w"
# Of the machine the run was on, and meaningless elsewhere; the token is a secret besides.
_MACHINE_FILES = {"lock", "live.json", "worker.token"}
_STORE_SIDE_FILES = {"telemetry.sqlite-wal", "telemetry.sqlite-shm", "telemetry.sqlite-journal"}


class ArchiveStream:
    """The bytes of an archive, one piece at a time. Close it, whether or not all were wanted."""

    def __init__(self, home: Home, entry: RunEntry, now: float) -> None:
        self._pieces = _pieces(home, entry, now)
        # Whoever asked may go away while a thread still makes the next piece.
        self._lock = threading.Lock()

    def next(self) -> bytes | None:
        with self._lock:
            return next(self._pieces, None)

    def close(self) -> None:
        with self._lock:
            self._pieces.close()


def _pieces(home: Home, entry: RunEntry, now: float) -> Generator[bytes, None, None]:
    with contextlib.closing(_ArchiveWriter(home, entry)) as writer:
        yield from writer.pieces(now)


def is_archived(relative: str) -> bool:
    """Whether it belongs to the run rather than to the machine or the moment."""
    parts = relative.split("/")
    is_of_machine = (
        len(parts) == 3 and parts[0] == "attempts" and parts[2] in _MACHINE_FILES
    ) or relative in _STORE_SIDE_FILES
    is_temporary = parts[-1].startswith(".") and parts[-1].endswith(".tmp")
    return not is_of_machine and not is_temporary


class _ArchiveWriter:
    def __init__(self, home: Home, entry: RunEntry) -> None:
        self._home = home
        self._entry = entry
        self._files = home.run(entry.run_id)
        self._outlet = _Outlet()
        # Not seekable on purpose: what was handed out can no longer be changed.
        self._zip = zipfile.ZipFile(self._outlet, _WRITE, zipfile.ZIP_DEFLATED)
        self._written: list[ArchivedFile] = []
        self._left_out: list[str] = []
        self._copy: Path | None = None

    def pieces(self, now: float) -> Iterator[bytes]:
        document = json.dumps(self._entry.to_dict(), indent=1).encode()
        yield from self._write_bytes(ENTRY_NAME, document)
        for path in config_files(self._home, self._entry.run_id):
            if path.is_symlink():
                self._left_out.append(ascii(path.name))
                continue
            yield from self._write_file(CONFIG_PREFIX + path.name, path)
        for relative, status in self._files_of_run():
            if not stat.S_ISREG(status.st_mode) or not is_place_in_run(RUN_PREFIX + relative):
                self._left_out.append(ascii(relative))
                continue
            path = self._files.directory / relative
            if relative == self._files.telemetry.name:
                path = self._copy = _consistent_copy(path, self._home.transfer)
            yield from self._write_file(RUN_PREFIX + relative, path)
        index = json.dumps(self._index(now), indent=1).encode()
        yield from self._write_bytes(INDEX_NAME, index)
        # The length of the comment stands before it, so it must be known when it is still empty.
        self._zip.comment = COMMENT + b"0" * DIGEST_LENGTH
        self._zip.close()
        yield from self._outlet.full(reserve=DIGEST_LENGTH)
        yield self._outlet.last(DIGEST_LENGTH)

    def _files_of_run(self) -> Iterator[tuple[str, os.stat_result]]:
        """Also those that appear meanwhile: a journal is compressed some time after its run."""
        seen: set[str] = set()
        while fresh := [
            item
            for item in files_below(self._files.directory)
            if item[0] not in seen and is_archived(item[0])
        ]:
            seen.update(relative for relative, _ in fresh)
            yield from fresh

    def _index(self, now: float) -> dict[str, Any]:
        return {
            "version": ARCHIVE_VERSION,
            "mosaic_version": __version__,
            "run_id": self._entry.run_id,
            "archived_at": now,
            # So that paths below it can be turned into those of another home.
            "runs_folder": str(self._home.runs),
            "files": [item._asdict() for item in self._written],
            # Links and devices, and names that mean something else elsewhere.
            "left_out": self._left_out,
        }

    def _write_bytes(self, name: str, data: bytes) -> Iterator[bytes]:
        info = zipfile.ZipInfo(name, _zip_time(time.time()))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (stat.S_IFREG | 0o600) << 16
        with self._zip.open(info, _WRITE) as target:
            target.write(data)
        if name != INDEX_NAME:
            self._written.append(ArchivedFile(name, len(data), hashlib.sha256(data).hexdigest()))
        yield from self._outlet.full()

    def _write_file(self, name: str, path: Path) -> Iterator[bytes]:
        try:
            source = _opened(path)
        except FileNotFoundError:
            return  # removed since it was listed
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        with source:
            status = os.fstat(source.fileno())
            info = zipfile.ZipInfo(name, _zip_time(status.st_mtime))
            info.external_attr = (stat.S_IFREG | 0o600) << 16
            sample = source.read(SAMPLE)
            info.compress_type = zipfile.ZIP_DEFLATED if shrinks(sample) else zipfile.ZIP_STORED
            digest, size = hashlib.sha256(), 0
            with self._zip.open(info, _WRITE, force_zip64=status.st_size > ZIP64_FROM) as target:
                data = sample
                while data:
                    digest.update(data)
                    size += len(data)
                    target.write(data)
                    yield from self._outlet.full()
                    data = source.read(CHUNK)
        self._written.append(ArchivedFile(name, size, digest.hexdigest()))

    def close(self) -> None:
        if self._copy is not None:
            self._copy.unlink(missing_ok=True)
        # An archive that is given up in the middle of a file: nobody will read its end.
        with contextlib.suppress(ValueError, OSError):
            self._zip.close()


def shrinks(sample: bytes) -> bool:
    return len(zlib.compress(sample, 1)) < WORTH_IT * len(sample)


def _opened(path: Path) -> BinaryIO:
    """Not through a link that took the place of a file since it was listed, nor a pipe."""
    return os.fdopen(open_regular(path, follow_links=False), "rb", buffering=0)


def _consistent_copy(path: Path, folder: Path) -> Path:
    """SQLite's own copy, with what still stands in the write-ahead log."""
    copy = folder / f"{os.urandom(8).hex()}.sqlite"
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(copy)) as target,
        ):
            target.execute("PRAGMA synchronous = OFF")
            source.backup(target)
    except sqlite3.Error as error:
        copy.unlink(missing_ok=True)
        raise StoreError(
            f"{path} cannot be copied: {error}",
            hint=f"check that there is room below {folder}; a damaged store can be removed, "
            "it is made again from the journal",
        ) from error
    return copy


def _zip_time(moment: float) -> tuple[int, int, int, int, int, int]:
    # Zip files know the years 1980 to 2107.
    local = time.localtime(min(max(moment, 315_619_200.0), 4_354_732_800.0))
    return local[:6]


class _Outlet:
    """Takes what the zip writer writes, and hands it on in pieces."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._digest: Any = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._waiting += data
        return len(data)

    def flush(self) -> None:
        """Nothing below holds anything back."""

    def close(self) -> None:
        """Nothing to release."""

    def full(self, reserve: int = 0) -> Iterator[bytes]:
        """Whole pieces, as long as this many bytes stay behind."""
        while len(self._waiting) >= CHUNK + reserve:
            piece = bytes(self._waiting[:CHUNK])
            del self._waiting[:CHUNK]
            self._digest.update(piece)
            yield piece

    def last(self, length: int) -> bytes:
        """The rest, its last bytes replaced by the digest of everything before them."""
        rest = bytes(self._waiting[:-length])
        self._waiting.clear()
        self._digest.update(rest)
        return rest + str(self._digest.hexdigest()).encode()
