"""Compares the registry with the runs' directories, which outlive it, and mends the registry.

Commits can be lost with a damaged write-ahead log, and a restored backup is an hour old. What
happened since is in the directories: run.json (the run exists; and, once over, how it ended) and
attempts/<n> (it was launched). A run in doubt is set to HSHK, so that the supervisor looks at its
attempt: adopts a live one, records an exit, or finds it lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.run_files import AttemptFiles, RunFiles
from mosaic.contracts.run_record import Transition
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.daemon.registry.rows import RunRow, columns_of
from mosaic.daemon.registry.run_file import read_run_file
from mosaic.daemon.registry.store import RegistryStore
from mosaic.errors import CorruptStoreError
from mosaic.logs import get_logger
from mosaic.paths import Home

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
    """Bring a row read from run.json up to date, and retell what led there."""
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
