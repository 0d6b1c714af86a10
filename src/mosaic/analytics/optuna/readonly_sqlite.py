"""Opens somebody else's SQLite database for reading only, and leaves no file beside it.

Whatever is in it, reading comes to an end and takes no more memory than a few times the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mosaic.errors import CorruptStoreError, StoreError
from mosaic.foreign.files import open_regular
from mosaic.foreign.sqlite import (
    UNREADABLE,
    connect_to_read,
    schema_of,
    schema_problem,
    stored_bytes,
)

BUSY_TIMEOUT_S = 0.2
# The byte of the header that says how the file is written, and its value for a write-ahead log.
_WRITE_VERSION_AT, _WRITE_AHEAD = 18, 2

T = TypeVar("T")
Row = tuple[Any, ...]
_Stamp = tuple[int, int, int]


def read_undisturbed(path: Path, read: Callable[[sqlite3.Connection], T]) -> T:
    """What `read` makes of the database.

    A database with a write-ahead log but nobody at it is read as a file that does not change.
    Else SQLite would create a log and an index beside it, which would belong to us: the writer
    might not be allowed to open them, and a read-only folder could not be read at all. Should a
    writer come in the meantime, the reading does not count and is done again beside the writer.
    """
    idle = _idle_stamp(path)
    if idle is not None:
        try:
            result = _read(path, read, "mode=ro&immutable=1")
        except (sqlite3.Error, ValueError, TypeError, LookupError):
            if _idle_stamp(path) == idle:
                raise
        else:
            if _idle_stamp(path) == idle:
                return result
    return _read(path, read, "mode=ro")


def _read(path: Path, read: Callable[[sqlite3.Connection], T], how: str) -> T:
    with closing(connect_to_read(path, how, timeout_s=BUSY_TIMEOUT_S)) as database:
        problem = schema_problem(schema_of(database))
        if problem is not None:
            raise ValueError(problem)
        return read(database)


class LimitedRows:
    """Rows of a database, as long as they hold no more than the file can.

    Each value stands in the file once; pages that are used twice over would make more of them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._taken = 0
        self._limit = 0

    def take(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Raises ValueError beyond the limit."""
        for row in rows:
            texts = [len(value) for value in row if isinstance(value, str | bytes)]
            self._taken += len(row) + sum(texts)
            if self._taken > self._limit:
                self._limit = stored_bytes(self._path)  # the file may have grown meanwhile
                if self._taken > self._limit:
                    raise ValueError("its tables hold more than the file can")
            yield row


def _idle_stamp(path: Path) -> _Stamp | None:
    """Tells two states of an idle database apart; None when it has no such log, or a writer."""
    with os.fdopen(open_regular(path), "rb") as file:
        header = file.read(_WRITE_VERSION_AT + 1)
        status = os.fstat(file.fileno())
    if header[_WRITE_VERSION_AT:] != bytes([_WRITE_AHEAD]):
        return None
    if path.with_name(f"{path.name}-wal").exists():
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@contextmanager
def failures_named(path: Path, decode_errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Every failure becomes a StoreError that names the file."""
    corrupt: tuple[type[Exception], ...] = (sqlite3.Error, *decode_errors)
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in UNREADABLE:
            raise _not_its_writers(path, error) from error
        raise StoreError(
            f"{path} cannot be read now: {error}",
            hint="a writer may be busy with it; try again",
            path=str(path),
        ) from error
    except corrupt as error:
        raise _not_its_writers(path, error) from error


def _not_its_writers(path: Path, error: Exception) -> CorruptStoreError:
    return CorruptStoreError(
        f"{path} does not hold what its writer writes: {error}", path=str(path)
    )
