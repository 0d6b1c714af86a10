"""Reads an archive that may come from anybody: refuses what is wrong before it writes, and
writes only what the index names, below the folder it was given."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mosaic.contracts.hostile_text import is_run_id
from mosaic.daemon.keeping.archive_format import (
    ARCHIVE_VERSION,
    CHUNK,
    CONFIG_PREFIX,
    ENTRY_NAME,
    INDEX_NAME,
    RUN_PREFIX,
    ArchivedFile,
    check_whole,
    refusal,
)
from mosaic.daemon.keeping.parcel import is_config_name
from mosaic.daemon.registry.entry import RunEntry, is_file_name
from mosaic.errors import CorruptStoreError, StoreError

MAX_DOCUMENT = 256_000_000
MAX_FILES = 1_000_000
MAX_NAME = 4096
# Deflate cannot do better than this; what claims more is made to fill a disk.
MAX_RATIO = 1100
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ArchiveIndex:
    run_id: str
    runs_folder: str
    files: tuple[ArchivedFile, ...]
    entry: RunEntry

    @property
    def bytes(self) -> int:
        return sum(item.size for item in self.files)


class RunArchive:
    """An open archive whose every byte was checked. Close the file yourself."""

    def __init__(self, file: BinaryIO) -> None:
        check_whole(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise refusal(f"it cannot be read as a zip file ({error})") from error
        size = file.seek(0, 2)
        self._members = _members(self._zip.infolist(), size)
        self.index = self._read_index()

    def unpack(self, folder: Path) -> None:
        """Every file but the two documents, with its size and hash checked while it is written."""
        for item in self.index.files:
            if item.name == ENTRY_NAME:
                continue
            self._unpack_one(item, folder / item.name)

    def _unpack_one(self, item: ArchivedFile, target: Path) -> None:
        digest, size = hashlib.sha256(), 0
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._zip.open(self._members[item.name]) as source, target.open("xb") as sink:
                target.chmod(0o600)
                while data := source.read(CHUNK):
                    size += len(data)
                    if size > item.size:
                        break
                    digest.update(data)
                    sink.write(data)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise refusal(f"{item.name} cannot be unpacked ({error})") from error
        except OSError as error:
            raise StoreError(
                f"{item.name} cannot be written: {error.strerror}",
                hint="free some disk space",
            ) from error
        if size != item.size or digest.hexdigest() != item.sha256:
            raise refusal(f"{item.name} does not match its checksum")

    def _read_index(self) -> ArchiveIndex:
        data = self._document(INDEX_NAME)
        version = data.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise refusal("its index has no version")
        if version > ARCHIVE_VERSION:
            raise CorruptStoreError(
                f"The archive has version {version}; this MOSAIC knows versions up to "
                f"{ARCHIVE_VERSION}",
                hint="import it with the newer MOSAIC that made it, or upgrade",
                version=version,
            )
        run_id = data.get("run_id")
        if not isinstance(run_id, str) or not is_run_id(run_id):
            raise refusal("its index names no run")
        files = _listed(data.get("files"))
        self._check_complete(files)
        for item in files:
            _check_place(item.name, run_id)
        entry_item = next((item for item in files if item.name == ENTRY_NAME), None)
        if entry_item is None:
            raise refusal(f"{ENTRY_NAME} is missing")
        raw = self._read_whole(ENTRY_NAME)
        if hashlib.sha256(raw).hexdigest() != entry_item.sha256:
            raise refusal(f"{ENTRY_NAME} does not match its checksum")
        entry = RunEntry.from_dict(self._document(ENTRY_NAME))
        if entry.run_id != run_id:
            raise refusal("its documents speak of two different runs")
        return ArchiveIndex(run_id, str(data.get("runs_folder") or ""), files, entry)

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

    def _document(self, name: str) -> dict[str, Any]:
        if name not in self._members:
            raise refusal(f"{name} is missing")
        try:
            data = json.loads(self._read_whole(name))
        except (ValueError, RecursionError) as error:
            raise refusal(f"{name} is not valid JSON") from error
        if not isinstance(data, dict):
            raise refusal(f"{name} is not a JSON object")
        return data

    def _read_whole(self, name: str) -> bytes:
        member = self._members[name]
        if member.file_size > MAX_DOCUMENT:
            raise refusal(f"{name} has {member.file_size:,} bytes")
        try:
            with self._zip.open(member) as source:
                return source.read(MAX_DOCUMENT + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise refusal(f"{name} cannot be unpacked ({error})") from error


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
        members[name] = info
    # Entries that share their bytes would unpack to more than there is.
    if sum(info.compress_size for info in infos) > archive_size:
        raise refusal("its files claim more bytes than it has")
    return members


def _listed(files: Any) -> tuple[ArchivedFile, ...]:
    if not isinstance(files, list):
        raise refusal("its index lists no files")
    found = []
    for item in files:
        try:
            name, size, digest = item["name"], item["size"], item["sha256"]
        except (TypeError, KeyError) as error:
            raise refusal("its index is incomplete") from error
        is_sound = (
            isinstance(name, str)
            and isinstance(size, int)
            and size >= 0
            and isinstance(digest, str)
            and _DIGEST.fullmatch(digest)
        )
        if not is_sound:
            raise refusal("its index is incomplete")
        found.append(ArchivedFile(name, size, digest))
    return tuple(found)


def _check_place(name: str, run_id: str) -> None:
    """A name must lead below the two folders of a parcel, piece by piece."""
    if name == ENTRY_NAME:
        return
    is_config = name.startswith(CONFIG_PREFIX) and is_config_name(
        name.removeprefix(CONFIG_PREFIX), run_id
    )
    is_of_run = (
        name.startswith(RUN_PREFIX)
        and len(name) <= MAX_NAME
        and "\\" not in name
        and all(is_file_name(piece) for piece in name.split("/"))
    )
    if not is_config and not is_of_run:
        raise refusal(f"{name[:200]!r} has no place in a run")
