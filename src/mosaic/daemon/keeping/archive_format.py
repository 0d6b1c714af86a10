"""What an archive of a run looks like: a zip file any tool can open, which notices every change.

    run/…          the run's folder
    configs/…      its configs
    entry.json     what the registry held of it
    archive.json   version, run id and every other file with its size and SHA-256; the last file
    comment        "mosaic-archive sha256:" and the SHA-256 of every byte before the digits

The hash finds damage, not malice: whoever writes an archive can also write its hashes.
"""

from __future__ import annotations

import hashlib
import struct
from typing import BinaryIO, NamedTuple

from mosaic.daemon.registry.entry import is_file_name
from mosaic.errors import CorruptStoreError

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
    """How many files there are is counted before a zip library makes an object of each.

    The number that a zip file states is of no use: no library believes it.
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
