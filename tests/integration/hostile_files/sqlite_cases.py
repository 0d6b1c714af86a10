"""Databases: stores of telemetry, and studies of Optuna."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path

from mosaic.telemetry.ingest import JournalIngest
from tests import journal_lines as lines
from tests.integration.hostile_files.case import CLEAN, Case, content, link, pipe, sparse

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
STUDY = Path(__file__).parents[2] / "unit" / "analytics" / "fixtures" / "optuna.sql"
Change = Callable[[sqlite3.Connection], object]


def statements(*texts: str) -> Change:
    def change(database: sqlite3.Connection) -> None:
        for text in texts:
            database.execute(text)

    return change


def forged(name: str, statement: str) -> Change:
    """The schema itself is written to: what it says a row is need not be so."""
    return statements(
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET sql = '{statement}' WHERE name = '{name}'",
    )


def store(change: Change) -> Callable[[Path], object]:
    def build(folder: Path) -> None:
        written = [lines.registered(0), *(lines.metric(seq) for seq in range(1, 50))]
        lines.append(folder / "events.jsonl", written)
        ingest = JournalIngest(lines.RUN_ID, folder / "events.jsonl", folder / "telemetry.sqlite")
        while ingest.step().has_more:
            pass
        ingest.close()
        altered(folder / "telemetry.sqlite", change)

    return build


def study(change: Change) -> Callable[[Path], object]:
    def build(folder: Path) -> None:
        with contextlib.closing(sqlite3.connect(folder / "study.db")) as database:
            database.executescript(STUDY.read_text())
        altered(folder / "study.db", change)

    return build


def altered(path: Path, change: Change) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        change(database)


def bytes_changed(
    make: Callable[[Change], Callable[[Path], object]],
    name: str,
    change: Callable[[bytearray], object],
) -> Callable[[Path], object]:
    def build(folder: Path) -> None:
        make(statements())(folder)
        data = bytearray((folder / name).read_bytes())
        change(data)
        (folder / name).write_bytes(data)

    return build


def endless_view(table: str, columns: str) -> Change:
    return statements(
        f"DROP TABLE {table}", f"CREATE VIEW {table} AS {ENDLESS} SELECT {columns} FROM n"
    )


def page_size(data: bytearray) -> int:
    size: int = struct.unpack_from(">H", data, 16)[0]
    return 65_536 if size == 1 else size


def circle(data: bytearray) -> None:
    """Every page of a table becomes an inner one that leads to itself."""
    size = page_size(data)
    for number in range(2, len(data) // size + 1):
        if data[(number - 1) * size] in (0x05, 0x0D):
            lead_to(data, number, number)


def maze(path: Path, table: str) -> None:
    """Twelve levels of pages that each lead a hundred times to the next one: rows without end."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        query = f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'"
        (root,) = database.execute(query).fetchone()
    data = bytearray(path.read_bytes())
    size = page_size(data)
    first_new = len(data) // size + 1
    chain = [root, *range(first_new, first_new + 12)]
    data += bytes(size * 11) + data[(root - 1) * size : root * size]  # the rows themselves last
    for number, following in itertools.pairwise(chain):
        lead_to(data, number, following)
    struct.pack_into(">I", data, 28, len(data) // size)
    path.write_bytes(data)


def lead_to(data: bytearray, number: int, following: int) -> None:
    """Make this an inner page of a table, all of whose hundred entries lead to one page."""
    size = page_size(data)
    start = (number - 1) * size
    data[start : start + size] = bytes(size)
    data[start : start + 12] = struct.pack(">BHHHBI", 0x05, 0, 100, size - 500, 0, following)
    for cell in range(100):
        place = size - 5 * (cell + 1)
        struct.pack_into(">H", data, start + 12 + 2 * cell, place)
        struct.pack_into(">IB", data, start + place, following, 1)


def in_maze(
    make: Callable[[Change], Callable[[Path], object]], name: str, table: str
) -> Callable[[Path], object]:
    def build(folder: Path) -> None:
        make(statements())(folder)
        maze(folder / name, table)

    return build


def claim_pages(data: bytearray) -> None:
    struct.pack_into(">I", data, 28, 0xFFFF_FFFE)


def cut(data: bytearray) -> None:
    del data[len(data) // 3 :]


CASES = [
    Case("store: endless view", "store", store(endless_view("metrics", "x, x, x, x, x, x"))),
    Case("store: endless state", "store", store(endless_view("ingest_state", "x AS run_id"))),
    Case(
        "store: view that calls itself a table",
        "store",
        store(forged("lifecycle", f"CREATE VIEW lifecycle AS {ENDLESS} SELECT x FROM n")),
    ),
    Case(
        "store: virtual table",
        "store",
        store(
            statements(
                "DROP TABLE episodes", "CREATE VIRTUAL TABLE episodes USING fts5(episode_index)"
            )
        ),
    ),
    Case(
        "store: trigger",
        "store",
        store(
            statements(
                "CREATE TRIGGER t AFTER INSERT ON metrics BEGIN DELETE FROM metrics; END",
            )
        ),
    ),
    Case(
        "store: computed column",
        "store",
        store(statements("ALTER TABLE metrics ADD COLUMN c AS (zeroblob(900000000))")),
    ),
    Case(
        "store: computed index",
        "store",
        store(statements("CREATE INDEX i ON metrics (length(hex(value)))")),
    ),
    Case("store: pages in a circle", "store", bytes_changed(store, "telemetry.sqlite", circle)),
    Case(
        "store: events without end",
        "store",
        in_maze(store, "telemetry.sqlite", "lifecycle"),
        says="more rows than it can hold",
    ),
    Case(
        "store: four billion pages claimed",
        "store",
        bytes_changed(store, "telemetry.sqlite", claim_pages),
    ),
    Case("store: cut off", "store", bytes_changed(store, "telemetry.sqlite", cut)),
    Case("store: no database", "store", content("telemetry.sqlite", b"MZ" * 5000)),
    Case("store: newer", "store", store(statements("PRAGMA user_version = 2000000000"))),
    Case("store: pipe", "store", pipe("telemetry.sqlite"), says="not a regular file"),
    Case("store: device", "store", link("telemetry.sqlite", "/dev/zero")),
    Case(
        "store: sparse terabyte",
        "store",
        sparse("telemetry.sqlite", b"SQLite format 3\0", 2**40),
    ),
    Case(
        "writer: endless view",
        "ingest",
        store(endless_view("episodes", "x AS cursor, x AS total_reward")),
        CLEAN,
    ),
    Case(
        "writer: trigger that multiplies",
        "ingest",
        store(
            statements(
                "CREATE TRIGGER t AFTER UPDATE ON ingest_state BEGIN"
                " INSERT INTO steps SELECT * FROM steps; END"
            )
        ),
        CLEAN,
    ),
    Case(
        "study: endless view",
        "study",
        study(endless_view("trials", "x AS trial_id, 1 AS study_id")),
    ),
    Case(
        "study: endless version",
        "study",
        study(endless_view("version_info", "x AS schema_version")),
    ),
    Case(
        "study: view that calls itself a table",
        "study",
        study(forged("studies", f"CREATE/**/VIEW studies AS {ENDLESS} SELECT x FROM n")),
    ),
    Case(
        "study: trigger",
        "study",
        study(statements("CREATE TRIGGER t AFTER INSERT ON trials BEGIN SELECT 1; END")),
    ),
    Case(
        "study: computed column",
        "study",
        study(statements("ALTER TABLE trials ADD COLUMN c AS (zeroblob(900000000))")),
    ),
    Case("study: pages in a circle", "study", bytes_changed(study, "study.db", circle)),
    Case("study: studies without end", "study", in_maze(study, "study.db", "studies")),
    Case(
        "study: directions without end",
        "study",
        in_maze(study, "study.db", "study_directions"),
        says="more than the file can",
    ),
    Case("study: cut off", "study", bytes_changed(study, "study.db", cut)),
    Case(
        "study: attribute nested deeply",
        "study",
        study(
            statements(
                "INSERT INTO study_user_attributes (study_id, key, value_json)"
                f" SELECT study_id, 'deep', '{'[' * 900}{']' * 900}' FROM studies"
            )
        ),
    ),
    Case(
        "study: nonsense in place of numbers",
        "study",
        study(statements("UPDATE trials SET number = 'x', state = 'y', datetime_start = 'z'")),
    ),
    Case(
        "study: a trial before all time",
        "study",
        study(statements("UPDATE trials SET datetime_start = '0001-01-01 00:00:00'")),
    ),
    Case("study: pipe", "study", pipe("study.db"), says="not a regular file"),
    Case("study: device", "study", link("study.db", "/dev/zero"), says="not a regular file"),
]
