"""One run with all that belongs to it in one place: a folder (bundle) or a zip file (archive).

A bundle lies outside of the places where runs live:

    entry.json   what the registry holds of the run, and notes of whoever made the bundle
    run/         the run's folder
    configs/     its configs

The trash holds bundles, an archive is a bundle in a zip file, and an import is a bundle that is
put back. Renaming `run/` is the one step that counts, in both directions: whoever finds a bundle
after a crash can tell from where that folder is what was going on (see `keeper`).

An archive is a zip file any tool can open, which notices every change:

    run/…          the run's folder
    configs/…      its configs
    entry.json     what the registry held of it
    archive.json   version, run id and every other file with its size and SHA-256; the last file
    comment        "mosaic-archive sha256:" and the SHA-256 of every byte before the digits

The hash finds damage, not malice: whoever writes an archive can also write its hashes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mosaic.daemon.registry.documents import is_file_name
from mosaic.errors import CorruptStoreError
from mosaic.files import sync_directory, sync_file
from mosaic.paths import Home

_CONFIG_NAME = r"(config-{0}|config-{0}-policy|worker-{0}-\d{{1,9}})\.json"


class RunBundle(NamedTuple):
    directory: Path

    @property
    def entry(self) -> Path:
        return self.directory / "entry.json"

    @property
    def run(self) -> Path:
        return self.directory / "run"

    @property
    def configs(self) -> Path:
        return self.directory / "configs"

    @property
    def has_run(self) -> bool:
        return os.path.lexists(self.run)

    def create(self) -> None:
        self.directory.mkdir(mode=0o700)
        self.configs.mkdir(mode=0o700)
        # Before anything is moved in: a folder that a power cut takes away takes it along.
        sync_directory(self.directory.parent)


def is_config_name(name: str, run_id: str) -> bool:
    return re.fullmatch(_CONFIG_NAME.format(run_id), name) is not None


def config_files(home: Home, run_id: str) -> list[Path]:
    """A link counts too; it is moved and removed as a link."""
    candidates = (
        home.config(run_id),
        home.policy_config(run_id),
        *sorted(home.configs.glob(f"worker-{run_id}-*.json")),
    )
    return [path for path in candidates if os.path.lexists(path)]


def move_in(bundle: RunBundle, home: Home, run_id: str) -> None:
    """Move a run into its bundle: the folder first, since that is what decides."""
    source = home.run(run_id).directory
    if os.path.lexists(source):
        source.rename(bundle.run)
        sync_directory(home.runs)
        sync_directory(bundle.directory)
    move_configs_in(bundle, home, run_id)


def move_configs_in(bundle: RunBundle, home: Home, run_id: str) -> None:
    bundle.configs.mkdir(mode=0o700, exist_ok=True)
    found = config_files(home, run_id)
    for path in found:
        path.rename(bundle.configs / path.name)
    if found:
        sync_directory(bundle.configs)


def put_configs_back(bundle: RunBundle, home: Home, run_id: str) -> None:
    if bundle.configs.is_dir():
        for path in sorted(bundle.configs.iterdir()):
            if is_config_name(path.name, run_id):
                path.rename(home.configs / path.name)
        sync_directory(home.configs)


def put_run_back(bundle: RunBundle, home: Home, run_id: str) -> None:
    target = home.run(run_id).directory
    if os.path.lexists(target):
        # rename() would silently replace an empty folder.
        raise FileExistsError(f"{target} exists")
    bundle.run.rename(target)
    sync_directory(home.runs)


def put_all_back(bundle: RunBundle, home: Home, run_id: str) -> None:
    """As if the run had never been moved in."""
    put_configs_back(bundle, home, run_id)
    if bundle.has_run:
        put_run_back(bundle, home, run_id)
    remove_tree(bundle.directory)


def make_durable(bundle: RunBundle) -> None:
    """Every file and every name in it; for one that was just filled."""
    for folder, _, names in os.walk(bundle.directory):
        for name in names:
            sync_file(Path(folder, name))
        sync_directory(Path(folder))


def remove_tree(path: Path) -> None:
    """Links are removed, their targets stay; folders without write permission get it first."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    for folder, _, _ in os.walk(path):
        if stat.S_IMODE(os.lstat(folder).st_mode) & 0o700 != 0o700:
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def files_below(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """(relative path, status) of everything below that is not a folder; links are not followed."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / prefix), key=lambda entry: entry.name)
        except OSError:
            continue  # removed meanwhile, or not ours to read
        for entry in entries:
            relative = f"{prefix}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{relative}/")
                else:
                    yield relative, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def size_below(folder: Path) -> int:
    if folder.is_symlink():
        return 0
    return sum(found.st_size for _, found in files_below(folder) if stat.S_ISREG(found.st_mode))


def size_of_run(home: Home, run_id: str) -> int:
    """What a run occupies, with its configs."""
    size = size_below(home.run(run_id).directory)
    for path in config_files(home, run_id):
        with contextlib.suppress(FileNotFoundError):
            size += path.lstat().st_size
    return size


ARCHIVE_VERSION = 1
INDEX_NAME = "archive.json"
ENTRY_NAME = "entry.json"
RUN_PREFIX = "run/"
CONFIG_PREFIX = "configs/"
COMMENT = b"mosaic-archive sha256:"
DIGEST_LENGTH = 64
CHUNK = 256 * 1024
MAX_FILES = 100_000
MAX_NAME_BYTES = 1_000
MAX_PIECES = 50
# Before the comment of a zip file: its end record, of fixed size, with the comment's length.
_END_MAGIC = b"PK\x05\x06"
_END_LENGTH = 22
_TAIL_LENGTH = _END_LENGTH + len(COMMENT) + DIGEST_LENGTH
# Before that, in files with more of anything than 32 bits can say, two records more.
_LOCATOR_MAGIC = b"PK\x06\x07"
_LARGE_LENGTH = 56 + 20
# The directory of a zip file: an entry of this size for each file, and what it says of its rest.
_ENTRY_MAGIC = b"PK\x01\x02"
_ENTRY_LENGTH = 46
_MAX_DIRECTORY = 32_000_000


class ArchivedFile(NamedTuple):
    name: str
    size: int
    sha256: str


def is_place_in_run(name: str) -> bool:
    """Whether a file of that name can be in an archive; those of others are left out of it."""
    pieces = name.split("/")
    return (
        name.startswith(RUN_PREFIX)
        and all(is_file_name(piece) for piece in pieces)
        and len(name.encode()) <= MAX_NAME_BYTES
        and len(pieces) <= MAX_PIECES
    )


def check_whole(file: BinaryIO) -> None:
    """Raise unless the file is an archive of ours to the last byte, before anything is parsed."""
    size = file.seek(0, 2)
    if size == 0:
        raise refusal("the file is empty")
    file.seek(max(0, size - _TAIL_LENGTH))
    tail = file.read(_TAIL_LENGTH)
    comment = tail[_END_LENGTH:-DIGEST_LENGTH]
    if len(tail) < _TAIL_LENGTH or comment != COMMENT or tail[:4] != _END_MAGIC:
        file.seek(0)
        if file.read(4) == b"PK\x03\x04":
            raise refusal("it is cut off, or it is a zip file that MOSAIC did not write")
        raise refusal("it is not an archive of a run")
    digest = hashlib.sha256()
    file.seek(0)
    left = size - DIGEST_LENGTH
    while left:
        data = file.read(min(CHUNK, left))
        if not data:
            raise refusal("it became shorter while it was read")
        digest.update(data)
        left -= len(data)
    if digest.hexdigest().encode() != tail[-DIGEST_LENGTH:]:
        raise refusal("its content does not match its checksum; it was damaged or changed")
    _check_directory(file, size - _TAIL_LENGTH)
    file.seek(0)


def _check_directory(file: BinaryIO, end: int) -> None:
    """Counts the files before a zip library makes an object of each.

    The number that a zip file states is useless: no library believes it.
    """
    large = _read_at(file, max(0, end - _LARGE_LENGTH), min(end, _LARGE_LENGTH))
    if large[-20:-16] == _LOCATOR_MAGIC and len(large) == _LARGE_LENGTH:
        (length,) = struct.unpack_from("<Q", large, 40)
        end -= _LARGE_LENGTH
    else:
        (length,) = struct.unpack("<I", _read_at(file, end + 12, 4))
    if length > _MAX_DIRECTORY or length > end:
        raise refusal(f"its list of files has {length:,} bytes")
    directory = _read_at(file, end - length, length)
    count = place = 0
    while directory.startswith(_ENTRY_MAGIC, place) and place + _ENTRY_LENGTH <= length:
        count += 1
        if count > MAX_FILES:
            raise refusal(f"it has more than {MAX_FILES:,} files")
        place += _ENTRY_LENGTH + sum(struct.unpack_from("<HHH", directory, place + 28))


def _read_at(file: BinaryIO, place: int, length: int) -> bytes:
    file.seek(place)
    return file.read(length)


_COPY_AGAIN = "copy it again from where it was made; `mosaic archive RUN` makes a new one"


def refusal(what: str, hint: str = _COPY_AGAIN) -> CorruptStoreError:
    return CorruptStoreError(f"The archive is refused: {what}", hint=hint)
