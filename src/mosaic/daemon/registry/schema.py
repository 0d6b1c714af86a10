"""The registry's file: how it is opened, its tables and migrations, and SQLite's errors."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from mosaic import sqlite_migrations
from mosaic.contracts.run_labels import named_apart
from mosaic.daemon.registry.rows import SqlValue, row_checksum
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.sqlite_migrations import statements_of, version_of

MIGRATIONS = Path(__file__).parent / "migrations"
_MAGIC = b"SQLite format 3\x00"
# The scripts up to this one make the checksums of the runs again by themselves.
OWN_CHECKSUMS = 6
# The script since which no two runs have the same name.
UNIQUE_NAMES = 7
# A larger number was not written by a future MOSAIC: it comes from four damaged bytes.
MOST_UNKNOWN_VERSIONS = 1000


def connect(path: Path) -> sqlite3.Connection:
    """A connection that may change the registry: durable at every commit, for its owner only."""
    # Created by us, because SQLite would follow the umask; its other files copy these rights.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # Otherwise savepoints leave what they might undo in files in /var/tmp.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA journal_size_limit = 67108864")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_read_only(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """`immutable`: a file nobody writes, such as a backup; no other files appear beside it."""
    options = "mode=ro&immutable=1" if immutable else "mode=ro"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA busy_timeout = 5000")
        connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def check_header(path: Path) -> None:
    """SQLite takes some damaged headers for a read-only file; we know what ours look like."""
    with path.open("rb") as file:
        header = file.read(20)
    if header[:16] != _MAGIC or header[18:20] not in (b"\x01\x01", b"\x02\x02"):
        raise CorruptStoreError("its header is damaged")


def migration_scripts() -> list[Path]:
    """Script n takes a registry from version n - 1 to version n."""
    return sorted(MIGRATIONS.glob("[0-9]*.sql"))


def migrate(connection: sqlite3.Connection, target: int | None = None) -> None:
    connection.create_function("row_checksum", -1, _checksum_in_sql, deterministic=True)
    scripts = [statements_of(script.read_text()) for script in migration_scripts()[:target]]
    numbers = range(OWN_CHECKSUMS + 1, len(scripts) + 1)
    afterwards = {**dict.fromkeys(numbers, _renew_checksums), UNIQUE_NAMES: _name_apart}
    sqlite_migrations.migrate(connection, scripts, afterwards)


def _name_apart(connection: sqlite3.Connection) -> None:
    """Runs of one name get the numbers they would have got, in the order of submission."""
    rows = connection.execute(
        "SELECT run_id, run_name FROM runs ORDER BY created_at, run_id"
    ).fetchall()
    unique = named_apart(name for _, name in rows)
    connection.executemany(
        "UPDATE runs SET run_name = ? WHERE run_id = ?",
        [(new, run_id) for (run_id, old), new in zip(rows, unique, strict=True) if new != old],
    )
    _renew_checksums(connection)


def _renew_checksums(connection: sqlite3.Connection) -> None:
    """A checksum covers every column of a run, so a migration makes those of older rows again.

    They were verified before.
    """
    names = connection.execute("SELECT name FROM pragma_table_info('runs')").fetchall()
    columns = ", ".join(name for (name,) in names if name != "checksum")
    connection.execute(f"UPDATE runs SET checksum = row_checksum({columns})")


def _checksum_in_sql(*values: SqlValue) -> bytes:
    return row_checksum(values)


def check_schema(connection: sqlite3.Connection) -> None:
    """The tables must be what the version says; a version we do not know is refused."""
    version, newest = version_of(connection), len(migration_scripts())
    shape = _shape(connection)
    is_newer = newest < version <= newest + MOST_UNKNOWN_VERSIONS
    if is_newer and shape != _expected_shape(newest):
        raise StoreError(
            f"The registry has version {version}; this MOSAIC knows versions up to {newest}",
            hint="use the newer MOSAIC that wrote it, or set MOSAIC_HOME to another directory",
            version=version,
        )
    if not 0 <= version <= newest or shape != _expected_shape(version):
        raise CorruptStoreError("its tables are not those of its version")


def _expected_shape(version: int) -> list[tuple[object, ...]]:
    model = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(model, target=version)
        return _shape(model)
    finally:
        model.close()


def _shape(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
    """Tables, columns and indexes; not the text of the statements, which tools may rewrite."""
    return connection.execute(
        'SELECT s.type, s.name, s.tbl_name, c.name, c.type, c."notnull", c.pk'
        " FROM sqlite_schema s LEFT JOIN pragma_table_info(s.name) c ON s.type = 'table'"
        ' UNION ALL SELECT \'index\', i.name, t.name, x.name, i."unique", x.seqno, x."desc"'
        " FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_xinfo(i.name) x"
        " WHERE t.type = 'table' ORDER BY 1, 2, 3, 4, 5, 6, 7"
    ).fetchall()


# Trouble of the machine, not of the file: it must never send a good registry into quarantine.
_ENVIRONMENT = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_PERM",
    "SQLITE_READONLY",
)
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS")


def error_name(error: sqlite3.Error) -> str:
    # Errors that the Python module raises by itself carry no code.
    return getattr(error, "sqlite_errorname", "")


def is_environment_error(error: sqlite3.Error) -> bool:
    name = error_name(error)
    return name.startswith(_ENVIRONMENT) and not name.startswith(_DAMAGE)


def store_error(error: sqlite3.Error) -> StoreError:
    """The error a caller of the registry gets, with what to do about it."""
    name = error_name(error)
    if name.startswith(_DAMAGE):
        return CorruptStoreError(
            f"The registry is damaged: {error}",
            hint="restart the daemon; it restores the registry from its backup and the runs' files",
        )
    if name.startswith("SQLITE_READONLY"):
        hint = "make the home directory writable again; the daemon then carries on by itself"
    elif name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        hint = "free some disk space; the daemon then carries on by itself"
    else:
        hint = "look at the daemon's log"
    return StoreError(f"The registry cannot be used: {error}", hint=hint, cause=name)
