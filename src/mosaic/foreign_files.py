"""Files that somebody else wrote: read when they are plain files, and never beyond a limit.

What lies in the folder of a run comes from workers and out of archives. A pipe would hold its
reader up for ever, a device never ends, and a few packed bytes can unpack to gigabytes. All
refusals are OSErrors or ValueErrors, so that whoever reads a format says which file it was.

Needs nothing newer than Python 3.9: scripts that are watched import it.
"""

from __future__ import annotations

import errno
import os
import stat
import zlib
from pathlib import Path


def open_regular(path: Path, *, follow_links: bool = True) -> int:
    """A descriptor for reading. Raises OSError for what is no plain file, and waits for none."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
    fd = os.open(path, flags if follow_links else flags | os.O_NOFOLLOW)
    try:
        require_regular(os.fstat(fd), path)
    except OSError:
        os.close(fd)
        raise
    return fd


def require_regular(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_regular(path: Path, most_bytes: int, *, follow_links: bool = True) -> bytes:
    """The whole file. Raises OSError for what is no plain file, or a larger one."""
    with os.fdopen(open_regular(path, follow_links=follow_links), "rb") as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {most_bytes:,} bytes", str(path))
    return data


def unpack(data: bytes, most_bytes: int, wbits: int = zlib.MAX_WBITS) -> bytes:
    """What zlib packed. Raises ValueError for anything else, and for more than `most_bytes`."""
    inflate = zlib.decompressobj(wbits)
    try:
        text = inflate.decompress(data, most_bytes + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if len(text) > most_bytes:
        raise ValueError(f"it unpacks to more than {most_bytes:,} bytes")
    if not inflate.eof:
        raise ValueError("what is packed in it is cut off")
    return text


def unpack_beginning(data: bytes, count: int) -> bytes:
    """The first bytes of what zlib packed, or fewer; nothing behind them is unpacked."""
    if count <= 0:
        return b""  # for zlib, none would mean all
    try:
        return zlib.decompressobj().decompress(data, count)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
