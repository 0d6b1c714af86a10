"""Files and JSON that somebody else wrote, read safely and within limits.

What lies in the folder of a run comes from workers and out of archives. A pipe would block its
reader forever, a device never ends, and a few packed bytes can unpack to gigabytes. All refusals
are OSErrors or ValueErrors that say what is wrong, so that the reader of a format can add which
file it was.

JSON is read in three grades, each stricter: `parse_json` for what is looked at value by value,
`parse_shallow_json` for what is gone through by recursion, `parse_plain_json` for documents that
are kept and handed on.

Needs nothing newer than Python 3.9: scripts that are watched import it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def open_regular(path: Path, *, follow_links: bool = True) -> int:
    """A descriptor for reading. Raises OSError for anything but a plain file; never blocks."""
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
    """The whole file. Raises OSError for anything but a plain file, or a larger one."""
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


# -- JSON

# Of a config as well, be it submitted here or brought along by a run.
MAX_DOCUMENT_BYTES = 4_000_000
DEEPEST = 100  # levels of lists and objects in each other
# Empty lists have two bytes each in a file and sixty in memory.
MOST_VALUES = 500_000
# 64 bits and a sign; a longer number is not a count of anything.
_LONGEST_INTEGER = 20
_LONGEST_SHOWN = 60
_INFINITIES = (float("inf"), float("-inf"))
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def read_plain_json(path: Path) -> Any:
    """A whole file. Raises OSError as well: for anything but a plain file, or a larger one."""
    return parse_plain_json(read_regular(path, MAX_DOCUMENT_BYTES))


def parse_json(text: bytes | str, **options: Any) -> Any:
    """`options` are those of `json.loads`."""
    try:
        return json.loads(text, **options)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def parse_shallow_json(text: bytes | str) -> Any:
    value = parse_json(text)
    for _ in _levels(value):
        pass
    return value


def parse_plain_json(text: bytes | str) -> Any:
    """Finite numbers of 64 bits, text that every encoder takes, and neither deep nor endless."""
    value = parse_json(text, parse_int=_integer, parse_float=_finite, parse_constant=_no_number)
    count = 0
    for level in _levels(value):
        count += len(level)
        if count > MOST_VALUES:
            raise ValueError(f"it holds more than {MOST_VALUES:,} values")
        for item in level:
            if isinstance(item, str) and _NO_TEXT.search(item):
                shown = ascii(item[:_LONGEST_SHOWN])
                raise ValueError(f"it holds text with a NUL or with half a character: {shown}")
    return value


def _levels(value: Any) -> Iterator[list[Any]]:
    """The value itself, then what is directly in it, keys included, and so on inwards."""
    level = [value]
    for _ in range(DEEPEST + 1):
        yield level
        containers = [item for item in level if isinstance(item, (dict, list))]
        if not containers:
            return
        level = []
        for item in containers:
            level += item
            if isinstance(item, dict):
                level += item.values()
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
