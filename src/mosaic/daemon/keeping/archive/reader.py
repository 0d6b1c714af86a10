"""Reads an archive that may come from anybody: refuses what is wrong before it writes, and
writes only what the index names, below the folder it was given."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, TypeVar

import msgspec

from mosaic.contracts.hostile_text import is_run_id
from mosaic.daemon.keeping.archive.bundle import (
    ARCHIVE_VERSION,
    CHUNK,
    CONFIG_PREFIX,
    ENTRY_NAME,
    INDEX_NAME,
    MAX_FILES,
    ArchivedFile,
    check_whole,
    is_config_name,
    is_place_in_run,
    refusal,
)
from mosaic.daemon.registry.documents import RunEntry
from mosaic.errors import CorruptStoreError, StoreError

T = TypeVar("T")

MAX_INDEX_BYTES = 32_000_000
MAX_ENTRY_BYTES = 16_000_000
# Deflate cannot do better than this; anything that claims more is meant to fill a disk.
MAX_RATIO = 1100
# Numbers of configs are never given twice: the next ones of this home come after the largest here.
_LAST_SLOTS = re.compile(r"-\d{9}\.json$")
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, OverflowError, struct.error, OSError),
)


class _Versioned(msgspec.Struct):
    version: int


class _ListedFile(msgspec.Struct):
    name: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", max_length=64)]


class _Index(msgspec.Struct):
    """The types keep what the document can become in memory close to what it is on disk."""

    run_id: str
    files: list[_ListedFile]
    runs_folder: str | None = None


@dataclass(frozen=True)
class ArchiveIndex:
    run_id: str
    runs_folder: str
    files: tuple[ArchivedFile, ...]
    entry: RunEntry


class RunArchive:
    """An open archive whose every byte was checked. Close the file yourself."""

    def __init__(self, file: BinaryIO) -> None:
        check_whole(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except _ZIP_ERRORS as error:
            raise refusal(f"it cannot be read as a zip file ({error})") from error
        self.size = file.seek(0, 2)
        self._members = _members(self._zip.infolist(), self.size)
        self.index = self._read_index()

    def unpack(
        self, folder: Path, files: tuple[ArchivedFile, ...], should_stop: Callable[[], bool]
    ) -> None:
        """These files, with their sizes and hashes checked while they are written."""
        for item in files:
            self._unpack_one(item, folder, should_stop)

    def _unpack_one(
        self, item: ArchivedFile, folder: Path, should_stop: Callable[[], bool]
    ) -> None:
        digest, size = hashlib.sha256(), 0
        try:
            with _created(folder, item.name) as sink:
                for data in self._content(item.name):
                    if should_stop():
                        raise StoreError("The daemon stops", hint="import the archive again")
                    size += len(data)
                    if size > item.size:
                        break
                    digest.update(data)
                    sink.write(data)
        except OSError as error:
            raise StoreError(
                f"{item.name} cannot be written: {error.strerror}", hint="free some disk space"
            ) from error
        if size != item.size or digest.hexdigest() != item.sha256:
            raise refusal(f"{item.name} does not match its checksum")

    def _read_index(self) -> ArchiveIndex:
        data = self._document(INDEX_NAME, MAX_INDEX_BYTES)
        version = _decoded(data, _Versioned, "its index has no version").version
        if version < 1:
            raise refusal("its index has no version")
        if version > ARCHIVE_VERSION:
            raise CorruptStoreError(
                f"The archive has version {version}; this MOSAIC knows versions up to "
                f"{ARCHIVE_VERSION}",
                hint="import it with the newer MOSAIC that made it, or upgrade",
                version=version,
            )
        index = _decoded(data, _Index, "its index is incomplete")
        if not is_run_id(index.run_id):
            raise refusal("its index names no run")
        files = tuple(ArchivedFile(item.name, item.size, item.sha256) for item in index.files)
        self._check_complete(files)
        _check_places(files, index.run_id)
        entry_item = next((item for item in files if item.name == ENTRY_NAME), None)
        if entry_item is None:
            raise refusal(f"{ENTRY_NAME} is missing")
        document = self._document(ENTRY_NAME, MAX_ENTRY_BYTES)
        if hashlib.sha256(document).hexdigest() != entry_item.sha256:
            raise refusal(f"{ENTRY_NAME} does not match its checksum")
        entry = RunEntry.from_json(document)
        if entry.run_id != index.run_id:
            raise refusal("its documents speak of two different runs")
        return ArchiveIndex(index.run_id, index.runs_folder or "", files, entry)

    def _check_complete(self, files: tuple[ArchivedFile, ...]) -> None:
        listed = {item.name for item in files}
        present = self._members.keys() - {INDEX_NAME}
        if len(listed) != len(files):
            raise refusal("its index lists a file twice")
        if missing := sorted(listed - present):
            raise refusal(f"{missing[0][:200]!r} is missing")
        if foreign := sorted(present - listed):
            raise refusal(f"{foreign[0][:200]!r} is not in its index")
        for item in files:
            if self._members[item.name].file_size != item.size:
                raise refusal(f"the size of {item.name[:200]!r} is not the one in its index")

    def _document(self, name: str, limit: int) -> bytes:
        if name not in self._members:
            raise refusal(f"{name} is missing")
        size = self._members[name].file_size
        if size > limit:
            raise refusal(f"{name} has {size:,} bytes; {limit:,} is the limit")
        return b"".join(self._content(name))

    def _content(self, name: str) -> Iterator[bytes]:
        """In pieces; never more than the archive says the file has."""
        with _zip_errors(name):
            source = self._zip.open(self._members[name])
        with source:
            while True:
                with _zip_errors(name):
                    data = source.read(CHUNK)
                if not data:
                    return
                yield data


@contextlib.contextmanager
def _zip_errors(name: str) -> Iterator[None]:
    try:
        yield
    except _ZIP_ERRORS as error:
        raise refusal(f"{name} cannot be unpacked ({error})") from error


@contextlib.contextmanager
def _created(folder: Path, name: str) -> Iterator[BinaryIO]:
    """A file that was not there, for its owner only, like every folder that leads to it."""
    *folders, last = name.split("/")
    for piece in folders:
        folder = folder / piece
        folder.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(folder / last, flags, 0o600), "wb") as sink:
        yield sink


def _decoded(data: bytes, kind: type[T], otherwise: str) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        raise refusal(f"{otherwise} ({error})") from error


def _members(infos: list[zipfile.ZipInfo], archive_size: int) -> dict[str, zipfile.ZipInfo]:
    """By name; refuses whatever our own writer never writes."""
    if len(infos) > MAX_FILES:
        raise refusal(f"it has {len(infos):,} files")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        # The name as it stands in the file: ZipInfo cuts at NUL and turns separators round.
        name = info.orig_filename
        if name in members:
            raise refusal(f"it holds {name[:200]!r} twice")
        if info.flag_bits & 0x1:
            raise refusal("it is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refusal(f"{name[:200]!r} is compressed in a way we do not use")
        if not stat.S_ISREG(info.external_attr >> 16):
            raise refusal(f"{name[:200]!r} is not a plain file")
        if info.file_size > MAX_RATIO * info.compress_size + CHUNK:
            raise refusal(f"{name[:200]!r} claims to be larger than it can be")
        if not 0 <= info.header_offset < archive_size:
            raise refusal(f"{name[:200]!r} claims to lie outside of it")
        members[name] = info
    # Entries that share their bytes would unpack to more than there is.
    if sum(info.compress_size for info in infos) > archive_size:
        raise refusal("its files claim more bytes than it has")
    return members


def _check_places(files: tuple[ArchivedFile, ...], run_id: str) -> None:
    """A name must lead below the two folders of a bundle, piece by piece."""
    names = {item.name for item in files}
    for name in names - {ENTRY_NAME}:
        is_config = name.startswith(CONFIG_PREFIX) and is_config_name(
            name.removeprefix(CONFIG_PREFIX), run_id
        )
        if is_config and _LAST_SLOTS.search(name):
            raise refusal(f"{name[:200]!r} has a number that no home reaches")
        if not is_config and not is_place_in_run(name):
            raise refusal(f"{name[:200]!r} has no place in a run")
        folders = name.split("/")[:-1]
        if any("/".join(folders[: depth + 1]) in names for depth in range(len(folders))):
            raise refusal(f"{name[:200]!r} lies below a file")
