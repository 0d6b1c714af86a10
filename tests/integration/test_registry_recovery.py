"""A registry that is damaged, stale, older, newer or gone: no run is lost, none is made up."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic.contracts.run_files import ExitRecord, RunFiles
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.daemon.registry import recovery as registry_recovery
from mosaic.daemon.registry import schema as registry_schema
from mosaic.daemon.registry.documents import write_run_file
from mosaic.daemon.registry.recovery import RecoveryReport, open_registry
from mosaic.daemon.registry.registry import Registry
from mosaic.errors import HomeError, StoreError
from mosaic.files import atomic_write_json
from mosaic.paths import Home
from tests.registry_samples import end, launch, made_home, new_run, step, submit
from tests.waiting import PATIENCE_S


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


def lose_registry(home: Home, *, and_backup: bool = True) -> None:
    for path in home.trainer.glob("registry.sqlite*"):
        path.unlink()
    if and_backup:
        home.registry_backup.unlink(missing_ok=True)


def leave_exit(files: RunFiles, run_id: str, attempt: int, exit_code: int) -> None:
    now = time.time()
    record = ExitRecord(run_id, attempt, exit_code, None, now, now)
    files.attempt(attempt).directory.mkdir(parents=True, exist_ok=True)
    files.attempt(attempt).claim.touch()
    atomic_write_json(files.attempt(attempt).exit, record.to_dict())


async def reopened(home: Home) -> tuple[dict[str, RunRecord], Registry]:
    registry = await Registry.open(home)
    records, _ = await registry.list()
    whole = {record.run_id: await registry.get(record.run_id) for record in records}
    await registry.close()
    return whole, registry


# Rebuilding from the runs' directories


async def test_a_lost_registry_is_rebuilt_from_the_runs_directories(home: Home) -> None:
    registry = await Registry.open(home)
    failure = FailureReason(FailureKind.SIGNAL, "killed", "", None, 9)
    queued = await submit(registry, home, new_run("queued", client_key="key", priority=5))
    canceled = await submit(registry, home, new_run("canceled in the queue"))
    await end(registry, canceled, RunState.INIT, 0, Outcome.CANCELED, stop_requested=True)
    live = await submit(registry, home, new_run("live"))
    await launch(registry, home, live)
    over = await submit(registry, home, new_run("failed"))
    await launch(registry, home, over)
    await registry.update(
        over, RunState.HSHK, 1, transition=step(RunState.FAULT, 1), failure=failure, signal=9
    )
    await end(
        registry,
        over,
        RunState.FAULT,
        1,
        Outcome.FAILED,
        progress=Progress(5),
        checkpoint_uri="c/5",
    )
    await registry.close()
    lose_registry(home)
    found, again = await reopened(home)
    assert found.keys() == {queued, canceled, live, over}
    assert (found[queued].state, found[queued].priority) == (RunState.INIT, 5)
    assert found[canceled].outcome is Outcome.CANCELED
    assert (found[live].state, found[live].attempt) == (RunState.HSHK, 1)
    record = found[over]
    assert (record.state, record.outcome, record.failure) == (
        RunState.TERM,
        Outcome.FAILED,
        failure,
    )
    assert (record.progress, record.checkpoint_uri, record.signal) == (Progress(5), "c/5", 9)
    assert set(again.recovery.reconciliation.recreated) == set(found)


async def test_a_run_that_ended_without_daemon_and_registry_is_left_to_the_supervisor(
    home: Home,
) -> None:
    new = new_run()
    run_id = new.record.run_id
    files = home.run(run_id)
    write_run_file(files, new)
    leave_exit(files, run_id, 1, exit_code=3)
    leave_exit(files, run_id, 2, exit_code=0)
    found, _ = await reopened(home)
    record = found[run_id]
    assert (record.state, record.attempt) == (RunState.HSHK, 2)
    assert [item.state for item in record.transitions] == [
        RunState.INIT, RunState.HSHK, RunState.FAULT, RunState.INIT, RunState.HSHK,
    ]  # fmt: skip


async def test_a_submission_the_daemon_died_in_is_finished_by_the_next_start(home: Home) -> None:
    new = new_run(client_key="key")
    write_run_file(home.run(new.record.run_id), new)
    registry = await Registry.open(home)
    assert await registry.create_run(new_run(client_key="key")) == (new.record.run_id, False)
    await registry.close()


async def test_the_loser_of_two_submissions_with_one_key_does_not_come_back(home: Home) -> None:
    registry = await Registry.open(home)
    winner = await submit(registry, home, new_run(client_key="key"))
    loser = new_run(client_key="key")
    assert await submit(registry, home, loser) == winner
    await registry.close()
    found, _ = await reopened(home)
    assert found.keys() == {winner}
    assert (home.trash / loser.record.run_id).is_dir()
    lose_registry(home)
    found, _ = await reopened(home)
    assert found.keys() == {winner}


async def test_a_deleted_run_does_not_come_back(home: Home) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await end(registry, run_id, RunState.INIT, 0, Outcome.CANCELED)
    shutil.rmtree(home.run(run_id).directory)
    await registry.delete(run_id)
    await registry.close()
    assert (await reopened(home))[0] == {}


async def test_strangers_below_runs_are_left_alone(home: Home) -> None:
    unreadable = new_run().record.run_id
    (home.runs / unreadable).mkdir()
    (home.runs / "notes").mkdir()
    (home.runs / "README").write_text("mine")
    found, registry = await reopened(home)
    assert found == {}
    assert registry.recovery.reconciliation.unreadable == {unreadable: "run.json is missing"}
    assert registry.set_aside == {unreadable: "run.json is missing"}
    assert sorted(os.listdir(home.runs)) == sorted([unreadable, "notes", "README"])


async def test_slots_do_not_repeat_after_a_loss(home: Home) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    slots = [await registry.next_slot() for _ in range(3)]
    home.worker_config(run_id, slots[-1]).write_text("{}")
    await registry.close()
    lose_registry(home)
    registry = await Registry.open(home)
    assert await registry.next_slot() == slots[-1] + 1
    await registry.close()


# A registry that is behind the directories (a restored backup, a damaged write-ahead log)


async def test_what_happened_after_the_backup_is_read_from_the_directories(home: Home) -> None:
    registry = await Registry.open(home)
    ended, launched, retried, deleted = [await submit(registry, home) for _ in range(4)]
    await registry.backup()
    await end(registry, ended, RunState.INIT, 0, Outcome.CANCELED)
    await launch(registry, home, launched)
    await launch(registry, home, retried)
    leave_exit(home.run(retried), retried, 1, exit_code=1)
    await registry.update(retried, RunState.HSHK, 1, transition=step(RunState.FAULT, 1))
    await registry.update(retried, RunState.FAULT, 1, transition=step(RunState.INIT, 1))
    await launch(registry, home, retried, attempt=2)
    new = await submit(registry, home, new_run("new"))
    await end(registry, deleted, RunState.INIT, 0, Outcome.CANCELED)
    shutil.rmtree(home.run(deleted).directory)
    await registry.delete(deleted)
    before = registry.revision
    await registry.close()
    home.registry.write_bytes(b"garbage" * 1000)
    found, again = await reopened(home)
    assert again.recovery.is_backup_restored
    assert "its backup and the runs' directories" in again.recovery.sentence
    assert again.recovery.quarantined is not None and again.recovery.quarantined.exists()
    assert found[ended].outcome is Outcome.CANCELED
    assert (found[launched].state, found[launched].attempt) == (RunState.HSHK, 1)
    assert (found[retried].state, found[retried].attempt) == (RunState.HSHK, 2)
    assert sum(item.state is RunState.FAULT for item in found[retried].transitions) == 1
    assert found[new].run_name == "new"
    # It may be shown again, but it must never be run again.
    assert (found[deleted].state, found[deleted].outcome) == (RunState.TERM, Outcome.FAILED)
    assert again.revision > before


async def test_a_queued_run_whose_retry_is_due_stays_queued(home: Home) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await launch(registry, home, run_id)
    leave_exit(home.run(run_id), run_id, 1, exit_code=1)
    await registry.update(run_id, RunState.HSHK, 1, transition=step(RunState.FAULT, 1))
    await registry.update(run_id, RunState.FAULT, 1, transition=step(RunState.INIT, 1))
    await registry.close()
    found, again = await reopened(home)
    assert (found[run_id].state, found[run_id].attempt) == (RunState.INIT, 1)
    assert again.recovery.reconciliation.corrected == ()


async def test_a_vanished_registry_is_not_silently_empty(home: Home) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await registry.backup()
    await registry.close()
    lose_registry(home, and_backup=False)
    found, again = await reopened(home)
    assert found.keys() == {run_id}
    assert "missing" in again.recovery.sentence


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/null")])
@pytest.mark.parametrize(
    "name",
    ["registry.sqlite", "registry.sqlite-wal", "registry.sqlite-shm", "registry.backup.sqlite"],
)
async def test_what_is_no_file_is_set_aside_and_stops_no_start(
    home: Home, name: str, make: Callable[[Path], None]
) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await registry.close()
    path = home.trainer / name
    path.unlink(missing_ok=True)
    make(path)
    if name.startswith("registry.backup"):
        home.registry.write_bytes(b"damaged" * 100)
    records, registry = await reopened(home)
    assert records.keys() == {run_id}
    assert registry.recovery.damage
    assert path.is_file() or not os.path.lexists(path)


async def test_a_damaged_backup_is_not_believed_either(home: Home) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await registry.backup()
    await registry.close()
    for path in (home.registry, home.registry_backup):
        path.write_bytes(b"SQLite format 3\x00" + os.urandom(8192))
    found, again = await reopened(home)
    assert found.keys() == {run_id}
    assert not again.recovery.is_backup_restored
    kept = sorted(path.name.split("-")[0] for path in home.trainer.glob("*.corrupt-*"))
    assert kept == ["registry.backup.corrupt", "registry.corrupt"]


# Random damage

NOTHING_WRONG = RecoveryReport()
OUTCOMES = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CANCELED)


async def populated(home: Home) -> dict[str, RunRecord]:
    """Runs of all kinds, half of them in the backup, some only in the write-ahead log."""
    registry = await Registry.open(home)
    ids = []
    for number in range(60):
        if number == 30:
            await registry.backup()
        run_id = await submit(registry, home, new_run(f"run {number}", client_key=f"key {number}"))
        ids.append(run_id)
        if number % 5 == 0:
            continue
        await launch(registry, home, run_id)
        if number % 5 == 1:
            continue
        await registry.update(run_id, RunState.HSHK, 1, transition=step(RunState.RDY, 1))
        await end(registry, run_id, RunState.RDY, 1, OUTCOMES[number % 3], exit_code=number % 3)
    # Ends of runs that the backup knows as queued.
    await end(registry, ids[0], RunState.INIT, 0, Outcome.CANCELED)
    await end(registry, ids[5], RunState.INIT, 0, Outcome.CANCELED)
    expected = {run_id: await registry.get(run_id) for run_id in ids}
    # Copied while it is open, as a crash would leave it: with its write-ahead log.
    shutil.copytree(home.root, home.root.with_name("crashed"))
    await registry.close()
    return expected


def damage(path: Path, seed: int) -> None:
    """Overwrite 64 bytes, one by one at random places or all in one place."""
    dice = random.Random(seed)
    content = bytearray(path.read_bytes())
    if seed % 2:
        for _ in range(64):
            content[dice.randrange(len(content))] = dice.randrange(256)
    else:
        start = dice.randrange(len(content) - 64)
        content[start : start + 64] = dice.randbytes(64)
    path.write_bytes(content)


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """In memory: hundreds of homes are written here, and flushing them proves nothing."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="mosaic-test-", dir=place) as folder:
        yield Path(folder)


@pytest.mark.parametrize("part", ["registry", "checkpointed registry", "write-ahead log", "both"])
async def test_no_run_is_lost_or_wrong_after_random_damage(quick_folder: Path, part: str) -> None:
    home = made_home(quick_folder)
    expected = await populated(home)
    source = home.root if part == "checkpointed registry" else quick_folder / "crashed"
    noticed = 0
    names = {
        "registry": ["registry.sqlite"],
        "checkpointed registry": ["registry.sqlite"],
        "write-ahead log": ["registry.sqlite-wal"],
        "both": ["registry.sqlite", "registry.sqlite-wal"],
    }[part]
    for seed in range(100):
        victim = Home(quick_folder / f"seed{seed}")
        shutil.copytree(source, victim.root)
        for name in names:
            damage(victim.trainer / name, seed)
        found, registry = await reopened(victim)
        noticed += registry.recovery != NOTHING_WRONG
        assert found.keys() == expected.keys(), seed
        for run_id, record in expected.items():
            seen = found[run_id]
            assert (seen.run_name, seen.outcome) == (record.run_name, record.outcome), (
                seed,
                run_id,
            )
            assert seen.attempt == record.attempt, (seed, run_id)
            if record.is_over:
                assert (seen.state, seen.exit_code) == (record.state, record.exit_code)
            else:
                # Live and queued runs stay that; the supervisor finds out the rest.
                was_launched = record.state is not RunState.INIT
                assert seen.state is not RunState.TERM
                assert (seen.state is not RunState.INIT) == was_launched, (seed, run_id)
        shutil.rmtree(victim.root)
    assert noticed > 20, "the damage did not reach anything that matters"
    print(f"{part}: damage noticed in {noticed} of 100 cases")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a plain name", b"a fancy name"),
        (b"succeeded", b"succeedee"),
        (b"submitted", b"submittee"),
        (b"what proves it", b"what proved it"),
    ],
)
async def test_a_plausible_change_of_a_value_is_noticed_by_its_checksum(
    home: Home, old: bytes, new: bytes
) -> None:
    """SQLite finds nothing wrong with these, since the file's structure is intact."""
    registry = await Registry.open(home)
    run_id = await submit(registry, home, new_run("a plain name"))
    await launch(registry, home, run_id)
    await registry.keep_exit_proof(run_id, 1, "what proves it")
    await end(registry, run_id, RunState.HSHK, 1, Outcome.SUCCEEDED)
    await registry.close()
    content = home.registry.read_bytes()
    assert old in content
    home.registry.write_bytes(content.replace(old, new))
    found, again = await reopened(home)
    assert "checksum" in again.recovery.sentence
    record = found[run_id]
    assert (record.run_name, record.outcome) == ("a plain name", Outcome.SUCCEEDED)
    assert record.transitions[0].reason == "submitted"


# Versions


async def test_a_newer_registry_is_refused_and_not_touched(home: Home) -> None:
    registry = await Registry.open(home)
    await submit(registry, home)
    await registry.close()
    connection = sqlite3.connect(home.registry)
    connection.execute("ALTER TABLE runs ADD COLUMN colour TEXT")
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    content = home.registry.read_bytes()
    with pytest.raises(StoreError, match="version 99") as caught:
        await Registry.open(home)
    assert "newer MOSAIC" in caught.value.hint
    assert home.registry.read_bytes() == content
    assert list(home.trainer.glob("*.corrupt-*")) == []


async def test_an_older_registry_is_backed_up_and_brought_up_to_date(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await registry.close()
    newest = len(registry_schema.migration_scripts())
    scripts = tmp_path / "migrations"
    shutil.copytree(registry_schema.MIGRATIONS, scripts)
    (scripts / "9999_colours.sql").write_text("CREATE TABLE colours (name TEXT);")
    monkeypatch.setattr(registry_schema, "MIGRATIONS", scripts)
    versions = []
    real = registry_recovery.back_up

    def watched(connection: sqlite3.Connection, target: Path) -> None:
        versions.append(connection.execute("PRAGMA user_version").fetchone()[0])
        real(connection, target)

    monkeypatch.setattr(registry_recovery, "back_up", watched)
    found, _ = await reopened(home)
    assert found.keys() == {run_id}
    assert versions == [newest, newest + 1]
    found, again = await reopened(home)
    assert found.keys() == {run_id} and again.recovery.sentence == ""


async def test_a_failed_migration_leaves_the_old_registry(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await registry.close()
    scripts = tmp_path / "migrations"
    shutil.copytree(registry_schema.MIGRATIONS, scripts)
    (scripts / "9999_broken.sql").write_text("CREATE TABLE colours (name TEXT); NONSENSE;")
    with monkeypatch.context() as patch:
        patch.setattr(registry_schema, "MIGRATIONS", scripts)
        with pytest.raises(HomeError):
            await Registry.open(home)
    found, again = await reopened(home)
    assert found.keys() == {run_id} and again.recovery.sentence == ""


# The machine's fault, not the file's


async def test_an_unwritable_home_is_not_taken_for_damage(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    await registry.close()

    def refuse(path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            connection.execute("CREATE TABLE t (x)")
        finally:
            connection.close()
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(registry_recovery, "connect", refuse)
        with pytest.raises(HomeError, match="readonly") as caught:
            open_registry(home)
        assert "writable" in caught.value.hint
    assert list(home.trainer.glob("*.corrupt-*")) == []
    assert (await reopened(home))[0].keys() == {run_id}


async def test_a_network_file_system_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_recovery, "filesystem_type", lambda path: "nfs4")
    with pytest.raises(HomeError, match="nfs4") as caught:
        await Registry.open(home)
    assert "MOSAIC_HOME" in caught.value.hint


WRITER = """
import asyncio, sys
from pathlib import Path
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from tests.registry_samples import new_run, submit

async def main():
    home = Home(Path(sys.argv[1]))
    registry = await Registry.open(home)
    while True:
        run_ids = await asyncio.gather(*(submit(registry, home) for _ in range(4)))
        print(*run_ids, sep="\\n", flush=True)

asyncio.run(main())
"""


async def test_every_acknowledged_run_survives_kill_nine(home: Home) -> None:
    acknowledged: set[str] = set()
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(home.root)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(12)]
        writer.kill()
        rest, _ = writer.communicate(timeout=PATIENCE_S)
        text = "".join(lines) + rest
        acknowledged |= {line for line in text.splitlines() if len(line) == 26}
    found, registry = await reopened(home)
    assert len(acknowledged) >= 60
    assert acknowledged <= found.keys()
    assert registry.recovery.sentence == ""
