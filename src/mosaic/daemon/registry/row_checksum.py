"""Checksums of registry rows: SQLite notices damaged pages, but not damaged values in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

SqlValue = str | int | float | None


def row_checksum(values: Iterable[SqlValue]) -> bytes:
    """Eight bytes that depend on every value, its type and its place."""
    # repr() of a string may change with the Unicode tables of a newer Python; its text does not.
    text = "\x1f".join(["'" + v if type(v) is str else repr(v) for v in values])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
