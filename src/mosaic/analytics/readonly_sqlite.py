"""Opens somebody else's SQLite database for reading only, and leaves no file beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from mosaic.errors import CorruptStoreError, StoreError

BUSY_TIMEOUT_S = 0.2
# The byte of the header that says how the file is written, and its value for a write-ahead log.
_WRITE_VERSION_AT, _WRITE_AHEAD = 18, 2

T = TypeVar("T")
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
    address = f"file:{quote(str(path.absolute()))}?{how}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    with closing(connection) as database:
        return read(database)


def _idle_stamp(path: Path) -> _Stamp | None:
    """Tells two states of an idle database apart; None when it has no such log, or a writer."""
    with path.open("rb") as file:
        header = file.read(_WRITE_VERSION_AT + 1)
    if header[_WRITE_VERSION_AT:] != bytes([_WRITE_AHEAD]):
        return None
    if path.with_name(f"{path.name}-wal").exists():
        return None
    status = path.stat()
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
        raise StoreError(
            f"{path} cannot be read now: {error}",
            hint="a writer may be busy with it; try again",
            path=str(path),
        ) from error
    except corrupt as error:
        raise CorruptStoreError(
            f"{path} does not hold what its writer writes: {error}", path=str(path)
        ) from error
