"""What cannot be read is set aside and named; the daemon starts and serves everything else."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.main import main
from mosaic.daemon.registry.documents import write_row_file
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.registry.rows import RUN_COLUMNS, TRANSITION_COLUMNS, row_checksum
from mosaic.errors import CorruptStoreError, RunStateError, UnknownRunError
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.kept_runs import finished_run, keeping_of
from tests.registry_samples import made_home
from tests.waiting import wait_until


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


def change_row(
    home: Home, run_id: str, *, and_run_file: bool = True, **changes: Any
) -> dict[str, Any]:
    """As a daemon that checked nothing stored it: every checksum is right."""
    with closing(sqlite3.connect(home.registry, isolation_level=None)) as connection:
        names = ", ".join(RUN_COLUMNS)
        values = connection.execute(f"SELECT {names} FROM runs WHERE run_id = ?", (run_id,))
        row = {**dict(zip(RUN_COLUMNS, values.fetchone(), strict=True)), **changes}
        marks = ", ".join(f"{name} = ?" for name in RUN_COLUMNS)
        checksum = row_checksum(row.values())
        connection.execute(
            f"UPDATE runs SET {marks}, checksum = ? WHERE run_id = ?",
            (*row.values(), checksum, run_id),
        )
    if and_run_file:
        write_row_file(home.run(run_id), row)
    return row


async def two_runs(home: Home) -> tuple[str, str]:
    registry = await Registry.open(home)
    try:
        return await finished_run(registry, home), await finished_run(registry, home, name="sound")
    finally:
        await registry.close()


async def opened(home: Home) -> tuple[list[str], dict[str, str]]:
    """(runs that are listed, runs that are set aside with the reason)."""
    registry = await Registry.open(home)
    try:
        records, _ = await registry.list()
        return [record.run_id for record in records], registry.set_aside
    finally:
        await registry.close()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("attempt", 10**12),
        ("attempt", -1),
        ("priority", 2**40),
        ("cpus", 2**40),
        ("memory_mb", -1),
        ("exit_code", 2**40),
        ("signal", 2**40),
        ("steps", -5),
        ("total_episodes", -5),
        ("quarantined_lines", -5),
        ("revision", 2**60),
        ("created_at", 1e300),
        ("finished_at", -1.0),
        ("state", "ROOT"),
        ("outcome", "won"),
        ("origin", "root"),
        ("failure_json", "{"),
        ("failure_json", '{"kind": "exit_code", "message": 5}'),
        ("gpu_slots", "1,x"),
    ],
)
async def test_a_row_no_record_can_hold_is_set_aside_with_its_reason(
    home: Home, column: str, value: Any
) -> None:
    bad, sound = await two_runs(home)
    change_row(home, bad, **{column: value})
    for _ in range(2):  # and it stays aside
        listed, set_aside = await opened(home)
        assert listed == [sound]
        assert column in set_aside[bad]
    (document,) = home.quarantine.iterdir()
    assert document.stat().st_mode & 0o777 == 0o600
    assert json.loads(document.read_text())["run"][column] == value
    assert home.run(bad).directory.is_dir(), "its files stay where they are"


async def test_an_infinite_return_is_set_aside_too(home: Home) -> None:
    bad, sound = await two_runs(home)
    change_row(home, bad, and_run_file=False, mean_return=float("inf"))
    home.run(bad).record.unlink()
    listed, set_aside = await opened(home)
    assert listed == [sound] and "mean_return is inf" in set_aside[bad]


async def test_a_run_whose_own_file_is_sound_comes_back_from_it(home: Home) -> None:
    bad, sound = await two_runs(home)
    change_row(home, bad, and_run_file=False, attempt=10**12)
    listed, set_aside = await opened(home)
    assert sorted(listed) == sorted([bad, sound]) and set_aside == {}
    assert (home.quarantine / f"{bad}.json").exists(), "what the row said is kept"


async def test_a_history_that_cannot_be_told_sets_its_run_aside(home: Home) -> None:
    bad, sound = await two_runs(home)
    home.run(bad).record.unlink()
    with closing(sqlite3.connect(home.registry, isolation_level=None)) as connection:
        names = ", ".join(TRANSITION_COLUMNS)
        (first, *_) = connection.execute(
            f"SELECT {names} FROM transitions WHERE run_id = ? AND n = 0", (bad,)
        ).fetchall()
        values = {**dict(zip(TRANSITION_COLUMNS, first, strict=True)), "state": "ROOT"}
        connection.execute(
            "UPDATE transitions SET state = 'ROOT', checksum = ? WHERE run_id = ? AND n = 0",
            (row_checksum(values.values()), bad),
        )
    listed, set_aside = await opened(home)
    assert listed == [sound] and "its history: state is 'ROOT'" in set_aside[bad]


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000, '{"worker_type": "changed"}'])
async def test_a_run_is_shown_without_capabilities_that_cannot_be_read(
    home: Home, text: str
) -> None:
    run_id, _ = await two_runs(home)
    with closing(sqlite3.connect(home.registry, isolation_level=None)) as connection:
        connection.execute("UPDATE capabilities SET document = ?", (text,))
    registry = await Registry.open(home)
    try:
        assert (await registry.get(run_id)).capabilities == {}
        assert registry.set_aside == {}
    finally:
        await registry.close()
    assert [path.name for path in home.quarantine.iterdir()]


async def test_a_row_that_turns_bad_while_it_is_served_hides_no_other(home: Home) -> None:
    bad, sound = await two_runs(home)
    registry = await Registry.open(home)
    try:
        change_row(home, bad, state="ROOT", revision=registry.revision + 7)
        records, _ = await registry.list()
        assert [record.run_id for record in records] == [sound]
        assert bad in registry.set_aside
        with pytest.raises(CorruptStoreError, match="state is 'ROOT'"):
            await registry.get(bad)
        assert [record.run_id for record in await registry.live_and_queued()] == []
    finally:
        await registry.close()


def a_file(folder: Path) -> None:
    folder.write_text("not a folder")


def a_link_to_a_run(folder: Path) -> None:
    """Somebody else's run, under an id that this home does not know."""
    elsewhere = folder.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.json").write_text("{}")
    folder.symlink_to(elsewhere)


def an_empty_folder(folder: Path) -> None:
    folder.mkdir()


def a_deep_file(folder: Path) -> None:
    folder.mkdir()
    (folder / "run.json").write_text("[" * 100_000)


def a_folder_for_a_file(folder: Path) -> None:
    (folder / "run.json").mkdir(parents=True)


def a_loop(folder: Path) -> None:
    folder.symlink_to(folder)


@pytest.mark.parametrize(
    "make", [a_file, a_link_to_a_run, an_empty_folder, a_deep_file, a_folder_for_a_file, a_loop]
)
async def test_what_stands_in_the_place_of_a_run_is_named_and_can_be_removed(
    home: Home, make: Callable[[Path], None]
) -> None:
    _, sound = await two_runs(home)
    stranger = "01M7GMPZ4XRYYH66DCYMN8YV3R"
    make(home.runs / stranger)
    registry = await Registry.open(home)
    try:
        records, _ = await registry.list()
        assert sound in [record.run_id for record in records]
        assert stranger not in [record.run_id for record in records]
        assert registry.set_aside.keys() == {stranger}
        keeping = keeping_of(home, registry)
        with pytest.raises(RunStateError, match="set aside"):
            await keeping.trash.delete(stranger)
        await keeping.trash.delete(stranger, for_good=True)
        assert registry.set_aside == {}
    finally:
        await registry.close()
    assert not os.path.lexists(home.runs / stranger)
    assert (await opened(home))[1] == {}


async def test_broken_parcels_in_the_trash_stop_nothing(home: Home) -> None:
    registry = await Registry.open(home)
    try:
        keeping = keeping_of(home, registry)
        broken = [await finished_run(registry, home) for _ in range(5)]
        whole = await finished_run(registry, home)
        for run_id in [*broken, whole]:
            await keeping.trash.delete(run_id)
        entries = [home.trash / run_id / "entry.json" for run_id in broken]
        entries[0].write_text("[" * 100_000)
        entries[1].write_text('{"deleted_at": 1e400, "bytes": 1e400, "reason": "\\ud800"}')
        entries[2].write_text('{"deleted_at": "x", "bytes": -5, "run": 7}')
        entries[3].unlink()
        configs = home.trash / broken[4] / "configs"
        for path in configs.iterdir():
            path.unlink()
        configs.rmdir()
        configs.write_text("not a folder")
        (home.trash / "01M7GMPZ4XRYYH66DCYMN8YV3R").write_text("not a folder")
        await keeping_of(home, registry).start()
        listed = await keeping.trash.runs()
        assert {run.run_id for run in listed} == {*broken, whole}
        assert all(run.bytes >= 0 and 0 < run.deleted_at < 1e11 for run in listed)
        assert (await keeping.trash.restore(whole)).run_id == whole
    finally:
        await registry.close()


def bricked_home(harness: DaemonHarness) -> tuple[str, str]:
    """(the run that stopped every daemon, a sound one): as an import of old left them."""
    harness.home.create()
    bad, sound = asyncio.run(two_runs(harness.home))
    change_row(harness.home, bad, attempt=10**12, mean_return=None, origin="imported")
    return bad, sound


def test_a_home_that_no_daemon_could_start_in_is_served_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def mosaic(*words: str) -> str:
        capsys.readouterr()
        assert main(["--home", str(harness.home.root), *words]) == 0
        return "".join(capsys.readouterr())

    harness = DaemonHarness(tmp_path / "home")
    bad, sound = bricked_home(harness)
    try:
        for _ in range(2):
            harness.start()
            assert [run.run_id for run in harness.client.list_runs()] == [sound]
            assert harness.client.get_run(sound).run_name == "sound"
            (alarm,) = harness.client.health().alarms
            assert bad in alarm and "attempt is 1000000000000" in alarm
            harness.stop()
        harness.start()
        assert bad in mosaic("runs") and bad in mosaic("daemon", "status")
        with pytest.raises(UnknownRunError):
            harness.client.get_run(bad)
        with pytest.raises(RunStateError, match="set aside"):
            harness.client.delete_run(bad)
        assert "deleted" in mosaic("delete", "--for-good", "--yes", bad)
        assert harness.client.health().healthy
        harness.stop()
        harness.start()
        assert harness.client.health().healthy
        assert not harness.home.run(bad).directory.exists()
    finally:
        harness.close()
    harness.assert_nothing_left()


def endless_view(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as store:
        store.executescript(
            "CREATE VIEW ingest_state AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1"
            " FROM n) SELECT x AS run_id, x AS offset, x AS episodes FROM n;"
            "PRAGMA user_version = 2"
        )


def computed_column(path: Path) -> None:
    with closing(sqlite3.connect(path)) as store:
        store.executescript(
            "ALTER TABLE metric_summaries ADD COLUMN large AS (hex(zeroblob(400000000)))"
        )


def trigger(path: Path) -> None:
    with closing(sqlite3.connect(path)) as store:
        store.executescript(
            "CREATE TRIGGER t AFTER INSERT ON metrics BEGIN DELETE FROM metrics; END"
        )


def garbage(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 40_000)


def text(path: Path) -> None:
    path.write_text("hello")


@pytest.fixture(scope="module")
def shared() -> Any:
    with running_daemon() as harness:
        yield harness


@pytest.mark.parametrize("spoil", [endless_view, computed_column, trigger, garbage, text])
def test_a_store_that_cannot_be_trusted_is_made_again_from_the_journal(
    shared: DaemonHarness, spoil: Callable[[Path], None]
) -> None:
    run_id, other = shared.submit(), shared.submit()
    for each in (run_id, other):
        shared.wait_over(each)
    before = shared.client.metrics(run_id)
    store = shared.home.run(run_id).telemetry
    spoil(store)
    with pytest.raises(CorruptStoreError, match=r"unreadable|does not hold the tables") as caught:
        shared.client.metrics(run_id)
    assert "made again from the run's journal" in caught.value.hint
    assert shared.client.metrics(other), "other runs are not disturbed"

    def answered() -> Any:
        try:
            return shared.client.metrics(run_id)
        except CorruptStoreError:
            return None

    assert wait_until(answered, what="the store") == before
    assert store.with_name("telemetry.corrupt-1.sqlite").exists(), "what was there is kept"


def test_a_daemon_starts_beside_documents_that_nobody_can_read(tmp_path: Path) -> None:
    harness = DaemonHarness(tmp_path / "home")
    home = harness.home
    home.create()
    bad, sound = asyncio.run(two_runs(home))
    home.config(bad).write_text("[" * 100_000)
    home.run(bad).manifest.write_text("[" * 100_000)
    home.worker_catalog.write_text("[" * 100_000)
    home.retention_settings.write_text("a = " + "[" * 100_000)
    (home.configs / "config-nobody.json").write_bytes(b"\xff")
    home.quarantine.mkdir()
    (home.quarantine / "broken.json").write_text("[" * 100_000)
    try:
        harness.start()
        assert {run.run_id for run in harness.client.list_runs()} == {bad, sound}
        shown = harness.client.get_run(bad)
        assert shown.config == {} and shown.manifest == {}
        wait_until(lambda: harness.client.health().alarms, what="the alarm about the policy")
        (alarm,) = harness.client.health().alarms
        assert "retention.toml cannot be read" in alarm
        assert harness.wait_over(harness.submit()).outcome == "succeeded"
    finally:
        harness.close()
    harness.assert_nothing_left()


def test_a_daemon_starts_works_and_stops_beside_pipes_that_nobody_writes(tmp_path: Path) -> None:
    harness = DaemonHarness(tmp_path / "home")
    home = harness.home
    home.create()
    bad, sound = asyncio.run(two_runs(home))
    for path in (
        *(home.config(bad), home.run(bad).manifest, home.run(bad).record, home.format),
        *(home.worker_catalog, home.worker_manifests / "x.toml", home.retention_settings),
    ):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    parcel = home.trash / "01M7GMPZ4XRYYH66DCYMN8YV3R"
    parcel.mkdir()
    os.mkfifo(parcel / "entry.json")
    try:
        harness.start()
        assert sound in {run.run_id for run in harness.client.list_runs()}
        assert harness.wait_over(harness.submit()).outcome == "succeeded"
        assert "x" in {worker.name for worker in harness.client.workers() if worker.error}
        harness.client.empty_trash()
    finally:
        harness.close()
    harness.assert_nothing_left()
