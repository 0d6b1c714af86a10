"""Opens the registry at start: verifies every row, restores what is damaged, keeps a backup.

A damaged registry is never silently replaced by an empty one. It is set aside, its backup takes its
place if that is sound, and what happened since is read from the runs' directories: run.json (the
run exists; and, once over, how it ended) and attempts/<n> (it was launched). A run in doubt is set
to HSHK, so that the supervisor looks at its attempt: adopts a live one, records an exit, or finds
it lost.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.learner import lineage_of
from mosaic.contracts.run_files import AttemptFiles, RunFiles
from mosaic.contracts.run_record import Lineage, Transition
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.daemon.executors.machine import NETWORK, filesystem_type
from mosaic.daemon.registry.documents import read_run_file
from mosaic.daemon.registry.quarantine import kept_reasons, set_aside_capabilities, set_aside_rows
from mosaic.daemon.registry.rows import (
    EXIT_PROOF_COLUMNS,
    RUN_COLUMNS,
    TRANSITION_COLUMNS,
    RunRow,
    columns_of,
    lineage_columns,
    row_checksum,
)
from mosaic.daemon.registry.schema import (
    check_header,
    check_schema,
    connect,
    connect_read_only,
    is_environment_error,
    migrate,
    migration_scripts,
)
from mosaic.daemon.registry.store import RegistryStore
from mosaic.errors import CorruptStoreError, HomeError
from mosaic.files import read_json, sync_directory, sync_file
from mosaic.logs import get_logger
from mosaic.paths import Home
from mosaic.sqlite_migrations import version_of

log = get_logger(__name__)

FOUND = "found in the run's directory"
_SLOT = re.compile(r"worker-[0-9A-Z]{26}-(\d{1,12})\.json")
_ATTEMPT = re.compile(r"[1-9][0-9]{0,4}")
# Revisions handed out by commits that were lost must not be handed out again.
REVISION_LEAP = 1_000_000


@dataclass(frozen=True)
class Reconciliation:
    recreated: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()
    # Why a directory cannot become a run, by its name; such directories are left alone.
    unreadable: dict[str, str] = field(default_factory=dict)


def reconcile(store: RegistryStore, home: Home, now: float) -> Reconciliation:
    """Runs inside the caller's transaction."""
    known = dict(store.connection.execute("SELECT run_id, state FROM runs").fetchall())
    present = {path.name for path in home.runs.iterdir() if is_run_id(path.name)}
    recreated, unreadable = _recreate(store, home, present - known.keys())
    corrected = [
        run_id
        for run_id, state in known.items()
        if state != RunState.TERM and _correct(store, home.run(run_id), run_id in present, now)
    ]
    store.next_slot = max(store.next_slot, 1 + _highest_slot(home.configs))
    store.revision += REVISION_LEAP
    return Reconciliation(tuple(recreated), tuple(corrected), unreadable)


def fill_in_lineage(store: RegistryStore, home: Home) -> None:
    """For runs older than this column: their configs say where they came from."""
    unknown = store.connection.execute("SELECT run_id FROM runs WHERE parent_run IS NULL")
    for (run_id,) in unknown.fetchall():
        row = store.row(run_id)
        # Keeps the date: this is not an event in the run's life.
        store.write(
            row, lineage_columns(_lineage_in_config(home, run_id)), float(str(row["updated_at"]))
        )


def _lineage_in_config(home: Home, run_id: str) -> Lineage | None:
    try:
        config = read_json(home.config(run_id))
    except (OSError, ValueError):
        return None
    return lineage_of(config, home.runs) if isinstance(config, dict) else None


def _recreate(
    store: RegistryStore, home: Home, run_ids: set[str]
) -> tuple[list[str], dict[str, str]]:
    recreated: list[str] = []
    unreadable: dict[str, str] = {}
    # Of two submissions with one client key the launched one counts, else the first.
    for run_id in sorted(run_ids, key=lambda name: (not _attempts(home.run(name)), name)):
        files = home.run(run_id)
        try:
            row = _row_in(files)
        except CorruptStoreError as error:
            unreadable[run_id] = error.message
            log.error("run.unreadable", run_id=run_id, path=str(files.record), reason=error.message)
            continue
        if _is_duplicate(store, row):
            # Lost the race of two submissions; its submitter was told the other run's id.
            try:
                files.directory.rename(home.trash / run_id)
            except OSError as error:
                unreadable[run_id] = f"another run has its client key: {error.strerror}"
                continue
            log.info("run.discarded", run_id=run_id, client_key=row["client_key"])
        else:
            store.insert(row, _life(row, files))
            recreated.append(run_id)
            log.warning("run.recreated", run_id=run_id, state=row["state"])
    return recreated, unreadable


def _is_duplicate(store: RegistryStore, row: RunRow) -> bool:
    key = row["client_key"]
    query = "SELECT 1 FROM runs WHERE client_key = ?"
    return key is not None and store.connection.execute(query, (key,)).fetchone() is not None


def _life(row: RunRow, files: RunFiles) -> list[Transition]:
    """Bring a row read from run.json up to date, and rebuild its history."""
    created_at = float(str(row["created_at"]))
    life = [Transition(RunState.INIT, created_at, "submitted", 0)]
    attempts = _attempts(files)
    if attempts:
        life += _launches(files, attempts, created_at)
    if row["state"] == RunState.TERM:
        life.append(_ending(row))
    elif attempts:
        row.update(state=RunState.HSHK.value, attempt=attempts[-1], started_at=life[-1].at)
    return life


def _correct(store: RegistryStore, files: RunFiles, is_present: bool, now: float) -> bool:
    """Whether a row that is not over had missed something that happened to its run."""
    row = store.row(files.directory.name)
    run_id, attempt = str(row["run_id"]), int(str(row["attempt"]))
    if not is_present:
        failure = FailureReason(FailureKind.LOST, "The run's directory is gone.")
        changes = columns_of(
            {"state": RunState.TERM, "outcome": Outcome.FAILED, "failure": failure}
        )
        changes["finished_at"] = now
        story = [Transition(RunState.TERM, now, failure.message, attempt)]
    elif ended := _row_of_end(files):
        changes, story = ended, [_ending(ended)]
    elif (attempts := _attempts(files)) and attempts[-1] > attempt:
        later = [number for number in attempts if number > attempt]
        story = _settled(files, row, now) + _launches(files, later, now)
        changes = {
            "state": RunState.HSHK.value,
            "attempt": attempts[-1],
            "started_at": story[-1].at,
        }
    else:
        return False
    log.warning("run.corrected", run_id=run_id, was=row["state"], state=changes["state"])
    store.write(row, changes, now)
    for transition in story:
        store.add_transition(run_id, transition)
    return True


def _row_in(files: RunFiles) -> RunRow:
    if files.directory.is_symlink() or not files.directory.is_dir():
        # What a link leads to is not ours: whoever is told the run's id could be shown anything.
        raise CorruptStoreError("its folder is a link or a file")
    return read_run_file(files)


def _row_of_end(files: RunFiles) -> RunRow | None:
    try:
        row = read_run_file(files)
    except CorruptStoreError:
        return None  # the row is sound and stays
    return row if row["state"] == RunState.TERM else None


def _ending(row: RunRow) -> Transition:
    at = float(str(row["finished_at"] or row["updated_at"]))
    return Transition(RunState.TERM, at, FOUND, int(str(row["attempt"])))


def _settled(files: RunFiles, row: RunRow, now: float) -> list[Transition]:
    """How the row's own attempt must have ended, since a later one was launched."""
    attempt = int(str(row["attempt"]))
    if row["state"] == RunState.INIT:
        return []
    settled = [Transition(RunState.INIT, now, FOUND, attempt)]
    if row["state"] != RunState.FAULT and _has_started(files.attempt(attempt)):
        settled.insert(0, Transition(RunState.FAULT, now, FOUND, attempt))
    return settled


def _launches(files: RunFiles, numbers: list[int], at: float) -> list[Transition]:
    launches = []
    for number in numbers:
        attempt = files.attempt(number)
        launches.append(Transition(RunState.HSHK, _launched_at(attempt) or at, FOUND, number))
        if number < numbers[-1]:
            if _has_started(attempt):
                launches.append(Transition(RunState.FAULT, at, FOUND, number))
            launches.append(Transition(RunState.INIT, at, FOUND, number))
    return launches


def _has_started(attempt: AttemptFiles) -> bool:
    return attempt.live.exists() or attempt.exit.exists()


def _launched_at(attempt: AttemptFiles) -> float | None:
    try:
        return attempt.claim.stat().st_mtime
    except OSError:
        return None


def _attempts(files: RunFiles) -> list[int]:
    try:
        names = [path.name for path in files.attempt(1).directory.parent.iterdir()]
    except OSError:
        return []
    return sorted(int(name) for name in names if _ATTEMPT.fullmatch(name))


def _highest_slot(configs: Path) -> int:
    matches = (_SLOT.fullmatch(path.name) for path in configs.iterdir())
    return max((int(match[1]) for match in matches if match), default=0)


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
        fill_in_lineage(store, home)
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
    if problem := _not_a_file(home.registry_backup):
        log.warning("backup.damaged", error=problem)
        _set_aside(home.registry_backup)
    damage = _not_a_file(home.registry)
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


def _not_a_file(path: Path) -> str:
    """Of the registry and SQLite's files beside it: a folder there would block every start."""
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
