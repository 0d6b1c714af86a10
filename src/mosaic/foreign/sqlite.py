"""SQLite files that somebody else may have written, opened so that nothing in them can run code or
loop.

A database is more than data. A view or a trigger is a program, and an endless one may bear the
name of a table; pages that point at each other in a circle make the plainest query endless. So
such a file is only read, what its schema may hold is checked before the first question, and every
question has an allowance of work.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from mosaic.foreign.files import require_regular

# No value, and no row, is longer.
MAX_VALUE_BYTES = 64 * 1024 * 1024
# Steps of SQLite's virtual machine; it takes about 20 to 100 million in a second. A sound query
# reads each byte of a file a few times at most.
LEAST_STEPS = 100_000_000
STEPS_PER_BYTE = 50
MOST_STEPS = 4_000_000_000
# Between two looks at the allowance. Each costs a turn with the interpreter's lock.
STEPS_PER_LOOK = 2_000_000

# What SQLite says to a file that is none, or not what it claims: the last two when a query used up
# its allowance, and when a value is longer than allowed.
UNREADABLE = frozenset(
    {
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_TOOBIG,
    }
)
# Its own opinion of a row (`type`) is no evidence: SQLite goes by the statement alone.
_PLAIN_STATEMENT = re.compile(r"CREATE\s+(?:TABLE|(?:UNIQUE\s+)?INDEX)\s", re.IGNORECASE)
# Generated columns, tables made by a query, partial indexes; and comments, which could hide them.
_COMPUTED = re.compile(r"\bAS\b|\bGENERATED\b|\bWHERE\b|\bSELECT\b|--|/\*", re.IGNORECASE)

SchemaRow = tuple[str | None, str | None]


class _Allowance:
    """How much work a connection may do; beyond it, its query ends with SQLITE_INTERRUPT."""

    def __init__(self, file_bytes: int) -> None:
        self._looks = min(MOST_STEPS, LEAST_STEPS + STEPS_PER_BYTE * file_bytes) // STEPS_PER_LOOK

    def is_used_up(self) -> bool:
        """SQLite asks this every `STEPS_PER_LOOK` steps."""
        self._looks -= 1
        return self._looks < 0


def connect_to_read(path: Path, how: str = "mode=ro", *, timeout_s: float) -> sqlite3.Connection:
    """`how` is the query of SQLite's address. Raises OSError for anything but a plain file."""
    status = path.stat()
    require_regular(status, path)
    address = f"file:{quote(str(path))}?{how}"
    connection = sqlite3.connect(address, uri=True, timeout=timeout_s, isolation_level=None)
    try:
        harden(connection)
        connection.set_progress_handler(_Allowance(status.st_size).is_used_up, STEPS_PER_LOOK)
    except BaseException:
        connection.close()
        raise
    return connection


def harden(connection: sqlite3.Connection) -> None:
    """Whatever SQLite itself can do against a file that means harm."""
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)


def stored_bytes(path: Path) -> int:
    """How much a database holds at most: what is in its file, and what still stands in its log."""
    try:
        in_log = path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        in_log = 0
    return path.stat().st_size + in_log


def schema_of(connection: sqlite3.Connection) -> list[SchemaRow]:
    """Name and statement of everything in the file; what a key implies has no statement."""
    return connection.execute("SELECT name, sql FROM sqlite_master").fetchall()


def schema_problem(rows: Iterable[SchemaRow]) -> str | None:
    """Why a schema is more than plain tables and indexes, or None."""
    for name, statement in rows:
        if statement is None:
            continue
        if not isinstance(statement, str) or not _PLAIN_STATEMENT.match(statement):
            return f"{str(name)[:80]!r} is neither a table nor an index"
        if _COMPUTED.search(statement):
            return f"{str(name)[:80]!r} is not plain: something in it is computed"
    return None
