from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mosaic.foreign import sqlite
from mosaic.foreign.sqlite import UNREADABLE, connect_to_read, schema_of, schema_problem

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def database(path: Path, *statements: str) -> Path:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as made:
        for statement in statements:
            made.execute(statement)
    return path


def problem_of(path: Path) -> str | None:
    with contextlib.closing(connect_to_read(path, timeout_s=1)) as opened:
        return schema_problem(schema_of(opened))


def test_tables_and_indexes_are_plain(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a b?#%.db",
        "CREATE TABLE asset (as_of TEXT, whereabouts INTEGER PRIMARY KEY, CHECK (as_of > 0))",
        "CREATE TABLE two (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID",
        "CREATE UNIQUE INDEX i ON asset (as_of)",
    )
    assert problem_of(path) is None


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON plain BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "CREATE TABLE g (a, b AS (a + 1))",
        "CREATE TABLE g (a, b GENERATED ALWAYS AS (a + 1) STORED)",
        "CREATE INDEX i ON plain (a) WHERE a > 0",
    ],
)
def test_what_is_computed_is_a_problem(statement: str, tmp_path: Path) -> None:
    path = database(tmp_path / "f.db", "CREATE TABLE plain (a)", statement)
    assert problem_of(path) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW plain AS SELECT 1",
        "create\tview plain as select 1",
        "CREATE/**/VIEW plain AS SELECT 1",
        "-- a table\nCREATE VIEW plain AS SELECT 1",
        "CREATE TABLE plain AS SELECT 1",
        "CREATE TABLE plain (a, b AS/**/(a))",
        b"CREATE TABLE plain (a)",
        7,
        "",
    ],
)
def test_a_statement_is_judged_by_its_words(statement: Any) -> None:
    problem = schema_problem([("fine", "CREATE TABLE fine (a)"), ("plain", statement)])
    assert problem is not None
    assert "'plain'" in problem


def test_nothing_can_be_written(tmp_path: Path) -> None:
    path = database(tmp_path / "f.db", "CREATE TABLE plain (a)")
    with (
        contextlib.closing(connect_to_read(path, timeout_s=1)) as opened,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        opened.execute("INSERT INTO plain VALUES (1)")


def test_a_query_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LEAST_STEPS", 4 * sqlite.STEPS_PER_LOOK)
    path = database(tmp_path / "f.db", "CREATE TABLE plain (a)")
    with contextlib.closing(connect_to_read(path, timeout_s=1)) as opened:
        with pytest.raises(sqlite3.OperationalError, match="interrupted") as caught:
            opened.execute(ENDLESS).fetchall()
        assert caught.value.sqlite_errorcode in UNREADABLE


def test_a_value_beyond_the_limit_is_no_value(tmp_path: Path) -> None:
    path = database(tmp_path / "f.db", "CREATE TABLE plain (a)")
    with (
        contextlib.closing(connect_to_read(path, timeout_s=1)) as opened,
        pytest.raises(sqlite3.DataError, match="too big") as caught,
    ):
        opened.execute("SELECT zeroblob(500000000)").fetchall()
    assert caught.value.sqlite_errorcode in UNREADABLE


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        connect_to_read(tmp_path / "none", timeout_s=1)
    with pytest.raises(OSError, match="not a regular file"):
        connect_to_read(tmp_path, timeout_s=1)
