"""How a SQLite file of ours is brought from its version to the newest one.

Migration n takes a file from version n - 1 to version n, and `PRAGMA user_version` says how many of
them it has seen. Each is one transaction: a file is never between two versions. Connections are
those of `isolation_level=None`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence

from mosaic.errors import CorruptStoreError, StoreError

# The statements of a migration, and what SQL cannot say of it.
Statements = Sequence[str]
Afterwards = Callable[[sqlite3.Connection], object]


def migrate(
    connection: sqlite3.Connection,
    migrations: Sequence[Statements],
    afterwards: Mapping[int, Afterwards] | None = None,
) -> None:
    """Apply what the file has not seen yet.

    `afterwards` has functions by version. Each is called after the statements of its migration, in
    the same transaction.
    """
    functions = afterwards or {}
    version, newest = version_of(connection), len(migrations)
    if version > newest:
        raise StoreError(
            f"The file has version {version}; this MOSAIC knows versions up to {newest}",
            hint="use the newer MOSAIC that wrote it",
            version=version,
        )
    if version < 0:
        raise CorruptStoreError(f"Its version is {version}, which no MOSAIC has written")
    for number, statements in enumerate(migrations[version:], start=version + 1):
        with transaction(connection):
            for statement in statements:
                connection.execute(statement)
            if number in functions:
                functions[number](connection)
            connection.execute(f"PRAGMA user_version = {number}")


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back by itself
            connection.execute("ROLLBACK")
        raise


def statements_of(script: str) -> list[str]:
    """The statements of a script, each with the comments before it."""
    statements, begun = [], ""
    *pieces, rest = script.split(";")
    for piece in pieces:
        begun += f"{piece};"
        # A semicolon in a text, a comment or a trigger ends no statement.
        if sqlite3.complete_statement(begun):
            statements.append(begun)
            begun = ""
    rest = f"{begun}{rest}".strip()
    return [*statements, rest] if rest else statements
