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
from typing import BinaryIO, NamedTuple

from mosaic.errors import CorruptStoreError

ARCHIVE_VERSION = 1
INDEX_NAME = "archive.json"
ENTRY_NAME = "entry.json"
RUN_PREFIX = "run/"
CONFIG_PREFIX = "configs/"
COMMENT = b"mosaic-archive sha256:"
DIGEST_LENGTH = 64
CHUNK = 256 * 1024
# Before the comment of a zip file: its end record, of fixed size, with the comment's length.
_END_MAGIC = b"PK\x05\x06"
_END_LENGTH = 22


class ArchivedFile(NamedTuple):
    name: str
    size: int
    sha256: str


def check_whole(file: BinaryIO) -> None:
    """Raise unless the file is an archive of ours to the last byte, before anything is parsed."""
    size = file.seek(0, 2)
    tail_length = _END_LENGTH + len(COMMENT) + DIGEST_LENGTH
    if size == 0:
        raise refusal("the file is empty")
    file.seek(max(0, size - tail_length))
    tail = file.read(tail_length)
    comment = tail[_END_LENGTH:-DIGEST_LENGTH]
    if len(tail) < tail_length or comment != COMMENT or tail[:4] != _END_MAGIC:
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
    file.seek(0)


def refusal(what: str) -> CorruptStoreError:
    return CorruptStoreError(
        f"The archive is refused: {what}",
        hint="copy it again from where it was made; `mosaic archive RUN` makes a new one",
    )
