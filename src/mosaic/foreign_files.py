"""Files that somebody else wrote: read when they are plain files, and never beyond a limit.

What lies in the folder of a run comes from workers and out of archives. A pipe would hold its
reader up for ever, a device never ends, and a few packed bytes can unpack to gigabytes. All
refusals are OSErrors or ValueErrors, so that whoever reads a format says which file it was.

Needs nothing newer than Python 3.9: scripts that are watched import it.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from pathlib import Path
from typing import Any

DEEPEST = 100  # levels of JSON
# 64 bits and a sign; a longer number is no count of anything.
_LONGEST_INTEGER = 20
_INFINITIES = (float("inf"), float("-inf"))


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


def read_regular(path: Path, most_bytes: int) -> bytes:
    """The whole file. Raises OSError for what is no plain file, or a larger one."""
    with os.fdopen(open_regular(path), "rb") as file:
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


def parse_json(text: bytes | str) -> Any:
    """Raises ValueError for what is no JSON, however it is none."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parse_plain_json(text: bytes | str) -> Any:
    """JSON that anybody can go through: finite numbers of 64 bits, and not nested deeply.

    Raises ValueError for anything else.
    """
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    require_shallow(value)
    return value


def require_shallow(value: Any) -> None:
    """Raises ValueError for lists and objects in each other that recursion would stumble over."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise ValueError(f"{text[:_LONGEST_INTEGER]}… is too large a number")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if value in _INFINITIES:
        raise ValueError(f"{text[:_LONGEST_INTEGER]} is too large a number")
    return value


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")
