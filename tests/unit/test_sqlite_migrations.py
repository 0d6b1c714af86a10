"""Migrations of SQLite files: in order, once, and each of them all or nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from mosaic.errors import CorruptStoreError, StoreError
from mosaic.sqlite_migrations import migrate, statements_of, version_of

FIRST = ("CREATE TABLE runs (name TEXT)", "INSERT INTO runs VALUES ('one')")
SECOND = ("ALTER TABLE runs ADD COLUMN length INTEGER",)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection


def measure(connection: sqlite3.Connection) -> None:
    assert connection.in_transaction
    connection.execute("UPDATE runs SET length = length(name)")


def unexpected(_: sqlite3.Connection) -> None:
    pytest.fail("this version has been there before")


def rows(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT * FROM runs").fetchall()


def test_only_what_a_file_has_not_seen_is_applied(connection: sqlite3.Connection) -> None:
    migrate(connection, [FIRST])
    assert version_of(connection) == 1
    migrate(connection, [FIRST, SECOND], {1: unexpected, 2: measure})
    assert version_of(connection) == 2 and rows(connection) == [("one", 3)]
    migrate(connection, [FIRST, SECOND], {1: unexpected, 2: unexpected})


def test_a_migration_that_fails_leaves_the_version_before(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, [FIRST, (*SECOND, "NONSENSE")])
    assert version_of(connection) == 1 and rows(connection) == [("one",)]


def test_a_function_that_fails_takes_its_statements_back(connection: sqlite3.Connection) -> None:
    def stop(connection: sqlite3.Connection) -> None:
        measure(connection)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(connection, [FIRST, SECOND], {2: stop})
    assert version_of(connection) == 1 and rows(connection) == [("one",)]


def test_a_newer_file_is_refused(connection: sqlite3.Connection) -> None:
    migrate(connection, [FIRST, SECOND])
    with pytest.raises(StoreError, match="version 2; this MOSAIC knows versions up to 1"):
        migrate(connection, [FIRST])


def test_a_damaged_version_is_refused(connection: sqlite3.Connection) -> None:
    migrate(connection, [FIRST])
    connection.execute("PRAGMA user_version = -1")
    with pytest.raises(CorruptStoreError, match="version is -1"):
        migrate(connection, [FIRST, SECOND])
    assert rows(connection) == [("one",)]


def test_a_script_is_split_where_its_statements_end() -> None:
    script = """
    -- What it is for; and why.
    INSERT INTO runs VALUES ('a;b');
    CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; SELECT 1; END;
    SELECT 2
    """
    first, trigger, last = statements_of(script)
    assert first.endswith("('a;b');") and trigger.endswith("END;") and last == "SELECT 2"
    assert statements_of("SELECT 1;\n") == ["SELECT 1;"]
