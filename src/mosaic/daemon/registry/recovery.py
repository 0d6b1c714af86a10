"""Opens the registry at start: verifies every row, restores what is damaged, keeps a backup.

A damaged registry is never silently replaced by an empty one. It is set aside, its backup takes
its place if that is sound, and what happened since is read from the runs' directories.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.daemon.mounts import NETWORK, filesystem_type
from mosaic.daemon.registry.columns import EXIT_PROOF_COLUMNS, RUN_COLUMNS, TRANSITION_COLUMNS
from mosaic.daemon.registry.quarantine import (
    kept_reasons,
    set_aside_capabilities,
    set_aside_rows,
)
from mosaic.daemon.registry.reconcile import Reconciliation, reconcile
from mosaic.daemon.registry.row_checksum import row_checksum
from mosaic.daemon.registry.run_file import write_run_file
from mosaic.daemon.registry.schema import (
    check_header,
    check_schema,
    connect,
    connect_read_only,
    migrate,
    migration_scripts,
    version_of,
)
from mosaic.daemon.registry.sqlite_errors import is_environment_error
from mosaic.daemon.registry.store import RegistryStore
from mosaic.errors import CorruptStoreError, HomeError
from mosaic.files import sync_directory, sync_file
from mosaic.logs import get_logger
from mosaic.paths import Home

__all__ = ["RecoveryReport", "back_up", "open_registry", "write_run_file"]

log = get_logger(__name__)

_ENDINGS = ("", "-wal", "-shm")


@dataclass(frozen=True)
class RecoveryReport:
    """What had to be done before the registry could be used; all empty on a normal start."""

    damage: str = ""
    quarantined: Path | None = None
    is_backup_restored: bool = False
    reconciliation: Reconciliation = field(default_factory=Reconciliation)
    # Why a run cannot be shown, by its id: found now, or by an earlier start.
    set_aside: dict[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """For people; empty when nothing was wrong."""
        if not self.damage:
            return ""
        origin = "its backup and the runs' directories"
        if not self.is_backup_restored:
            origin = "the runs' directories"
        kept = f" The old file is kept as {self.quarantined}." if self.quarantined else ""
        return f"The registry was unusable ({self.damage}) and was restored from {origin}.{kept}"


def open_registry(home: Home) -> tuple[sqlite3.Connection, RecoveryReport]:
    kind = filesystem_type(home.trainer)
    if kind in NETWORK:
        raise HomeError(
            f"{home.root} is on a network file system ({kind}), where SQLite is not safe",
            hint="set MOSAIC_HOME to a directory on a local disk",
        )
    try:
        return _open(home)
    except (OSError, sqlite3.Error) as error:
        raise HomeError(
            f"The registry {home.registry} cannot be opened: {error}",
            hint="check that the home directory is writable and has free space",
            path=str(home.registry),
        ) from error


def _open(home: Home) -> tuple[sqlite3.Connection, RecoveryReport]:
    with contextlib.ExitStack() as on_failure:
        connection, damage, quarantined, is_restored = _sound_connection(home)
        on_failure.callback(connection.close)
        if 0 < version_of(connection) < len(migration_scripts()):
            back_up(connection, home.registry_backup)
        migrate(connection)
        store = RegistryStore(connection)
        connection.execute("BEGIN IMMEDIATE")
        set_aside_rows(store, home, time.time())
        set_aside_capabilities(store, home)
        reconciliation = reconcile(store, home, time.time())
        store.save_counters()
        connection.execute("COMMIT")
        set_aside = _set_aside_runs(store, home, reconciliation)
        back_up(connection, home.registry_backup)
        on_failure.pop_all()
    return connection, RecoveryReport(damage, quarantined, is_restored, reconciliation, set_aside)


def _set_aside_runs(
    store: RegistryStore, home: Home, reconciliation: Reconciliation
) -> dict[str, str]:
    """Runs that came back from their run.json are none of them."""
    reasons = {**reconciliation.unreadable, **kept_reasons(home)}
    known = {run_id for (run_id,) in store.connection.execute("SELECT run_id FROM runs")}
    return {run_id: reason for run_id, reason in reasons.items() if run_id not in known}


def _sound_connection(home: Home) -> tuple[sqlite3.Connection, str, Path | None, bool]:
    """A verified connection, and what was wrong before it could be had."""
    if problem := _what_is_no_file(home.registry_backup):
        log.warning("backup.damaged", error=problem)
        _set_aside(home.registry_backup)
    damage = _what_is_no_file(home.registry)
    if not damage and home.registry.exists() and home.registry.stat().st_size:
        try:
            return _verified(home.registry), "", None, False
        except CorruptStoreError as error:
            damage = str(error)
    elif not damage and home.registry_backup.exists():
        damage = "the file was missing"
    quarantined = _set_aside(home.registry)
    is_restored = _restore_backup(home)
    if damage:
        log.error(
            "registry.restored",
            damage=damage,
            quarantined=str(quarantined),
            is_backup_restored=is_restored,
        )
    return connect(home.registry), damage, quarantined, is_restored


def _what_is_no_file(path: Path) -> str:
    """Of the registry and what SQLite keeps beside it: a folder there would stop every start."""
    for ending in _ENDINGS:
        found = path.with_name(path.name + ending)
        try:
            if not stat.S_ISREG(found.stat().st_mode):
                return f"{found.name} is no file"
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{found.name} cannot be opened: {error.strerror}"
    return ""


def _verified(path: Path) -> sqlite3.Connection:
    with _damage_only():
        check_header(path)
        connection = connect(path)
        try:
            verify(connection)
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def _damage_only() -> Iterator[None]:
    """Errors that speak of damage become CorruptStoreError; a full disk stays a full disk."""
    try:
        yield
    except sqlite3.Error as error:
        if is_environment_error(error):
            raise
        raise CorruptStoreError(str(error)) from error
    except (ValueError, OverflowError) as error:
        raise CorruptStoreError(f"unreadable values: {error}") from error


def verify(connection: sqlite3.Connection) -> None:
    """Raise CorruptStoreError unless structure, tables and every row are as they were written."""
    check_schema(connection)
    complaint = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if complaint != "ok":
        raise CorruptStoreError(f"integrity check: {str(complaint)[:200]}")
    if version_of(connection) == 0:
        raise CorruptStoreError("it has no tables")  # a first start that was cut short
    for table, columns in (
        ("runs", tuple(RUN_COLUMNS)),
        ("transitions", tuple(TRANSITION_COLUMNS)),
        ("exit_proofs", EXIT_PROOF_COLUMNS),
        ("meta", ("id", "next_slot", "revision")),
    ):
        known = _columns_of(connection, table, columns)
        if not known:
            continue  # the table is younger than this file
        query = f"SELECT {', '.join(known)}, checksum FROM {table}"
        for row in connection.execute(query):
            if row_checksum(row[:-1]) != row[-1]:
                raise CorruptStoreError(f"a row of {table} does not match its checksum")


def _columns_of(
    connection: sqlite3.Connection, table: str, columns: Iterable[str]
) -> tuple[str, ...]:
    """Those that the table has in a registry of this version."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    present = {name for (name,) in rows}
    return tuple(name for name in columns if name in present)


def _set_aside(path: Path) -> Path | None:
    """Rename the registry with its write-ahead log; returns the new name, or None without file."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + f"-{os.urandom(2).hex()}"
    aside = path.with_name(f"{path.stem}.corrupt-{stamp}{path.suffix}")
    was_there = False
    for ending in _ENDINGS:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
            was_there = was_there or not ending
    sync_directory(path.parent)
    return aside if was_there else None


def _restore_backup(home: Home) -> bool:
    if not home.registry_backup.exists():
        return False
    try:
        with _damage_only():
            check_header(home.registry_backup)
            backup = connect_read_only(home.registry_backup, immutable=True)
            try:
                verify(backup)
                back_up(backup, home.registry)
            finally:
                backup.close()
    except CorruptStoreError as error:
        log.warning("backup.damaged", error=error)
        _set_aside(home.registry_backup)
        return False
    return True


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """A consistent copy that appears as a whole or not at all."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        copy = sqlite3.connect(temporary, isolation_level=None)
        try:
            # The file is flushed once, below; nobody reads it before.
            copy.execute("PRAGMA synchronous = OFF")
            connection.backup(copy)
        finally:
            copy.close()
        sync_file(temporary)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(target.parent)
