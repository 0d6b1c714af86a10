"""Registries and run files that an older MOSAIC wrote: their runs are all there, pins work."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mosaic.contracts.learner import EvaluateRequest
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import Lineage, LineageKind, Origin
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.registry import schema
from mosaic.daemon.registry.documents import read_run_file
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.registry.rows import RUN_COLUMNS, columns_younger_than, row_checksum
from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write_json
from mosaic.paths import Home
from tests.registry_samples import end, launch, made_home, new_run, submit

FIXTURES = Path(__file__).parents[1] / "fixtures"
QUEUED, OVER = "01M7GMPJSZ0BRD37XN2WQBJ4W5", "01M7GMPZ4XRYYH66DCYMN8YV3R"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


def lay_down_old_registry(home: Home) -> None:
    with closing(sqlite3.connect(home.registry)) as connection:
        connection.executescript((FIXTURES / "registry_version_1.sql").read_text())
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    files = home.run(OVER)
    files.directory.mkdir()
    shutil.copy(FIXTURES / "run_file_version_1.json", files.record)
    home.run(QUEUED).directory.mkdir()


async def test_a_registry_of_version_1_keeps_its_runs(home: Home) -> None:
    lay_down_old_registry(home)
    registry = await Registry.open(home)
    assert registry.recovery.sentence == ""
    over, queued = await registry.get(OVER), await registry.get(QUEUED)
    assert (over.pinned, over.group, queued.pinned, queued.group) == (False, "", False, "")
    assert (over.run_name, over.signal, over.progress.mean_return) == ("over then", 9, -0.5)
    assert over.capabilities == {"worker_type": "sample"} and len(over.transitions) == 3
    assert (queued.priority, queued.created_at) == (5, 1_700_000_000.25)
    assert await registry.find_client_key("key of then") == QUEUED
    await registry.pin(OVER, True)
    await registry.close()
    registry = await Registry.open(home)
    assert registry.recovery.sentence == ""
    assert (await registry.get(OVER)).pinned
    await registry.close()


async def test_a_changed_row_of_version_1_is_noticed_before_it_gets_a_new_checksum(
    home: Home,
) -> None:
    lay_down_old_registry(home)
    with closing(sqlite3.connect(home.registry)) as connection, connection:
        connection.execute("UPDATE runs SET priority = 6")
    registry = await Registry.open(home)
    assert "checksum" in registry.recovery.sentence
    record = await registry.get(OVER)  # from its run.json
    assert (record.run_name, record.state, record.pinned) == ("over then", RunState.TERM, False)
    await registry.close()


def test_a_run_file_of_version_1_is_read(home: Home) -> None:
    lay_down_old_registry(home)
    row = read_run_file(home.run(OVER))
    assert (row["run_name"], row["pinned"], row["group_name"]) == ("over then", 0, "")


def test_a_run_file_of_version_2_without_its_new_fields_is_refused(home: Home) -> None:
    lay_down_old_registry(home)
    path = home.run(OVER).record
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(CorruptStoreError, match="no record of a run"):
        read_run_file(RunFiles(path.parent))


async def test_pins_and_groups_outlive_a_lost_registry(home: Home) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home, new_run("one of five", group="five seeds"))
    await registry.pin(run_id, True)
    await launch(registry, home, run_id)
    await end(registry, run_id, RunState.HSHK, 1, Outcome.SUCCEEDED)
    later = await submit(registry, home, new_run("pinned afterwards", group="five seeds"))
    await end(registry, later, RunState.INIT, 0, Outcome.CANCELED)
    before = (await registry.get(later)).updated_at
    await registry.pin(later, True)
    assert (await registry.get(later)).updated_at == before, "a pin does not date a run"
    await registry.close()
    for path in home.trainer.glob("registry*"):
        path.unlink()
    registry = await Registry.open(home)
    for each in (run_id, later):
        record = await registry.get(each)
        assert (record.pinned, record.group) == (True, "five seeds")
    await registry.close()


async def test_a_pin_is_seen_in_lists(home: Home) -> None:
    registry = await Registry.open(home)
    run_id = await submit(registry, home)
    assert [run.pinned for run in (await registry.list())[0]] == [False]
    await registry.pin(run_id, True)
    assert [run.pinned for run in (await registry.list())[0]] == [True]
    await registry.close()


async def test_a_registry_of_version_2_says_where_its_runs_came_from(home: Home) -> None:
    """Their history knew it: the run of a script, and one that an archive brought."""
    registry = await Registry.open(home)
    plain = await submit(registry, home)
    imported = await submit(registry, home)
    await launch(registry, home, imported)
    await end(registry, imported, RunState.HSHK, 1, Outcome.SUCCEEDED)
    await registry.close()
    with closing(sqlite3.connect(home.registry)) as connection, connection:
        connection.create_function("row_checksum", -1, lambda *values: row_checksum(values))
        rewrite_as_version_2(connection, imported)
    registry = await Registry.open(home)
    assert registry.recovery.sentence == ""
    assert (await registry.get(plain)).origin is Origin.HERE
    assert (await registry.get(imported)).origin is Origin.IMPORTED
    await registry.close()


def rewrite_as_version_2(connection: sqlite3.Connection, imported: str) -> None:
    """The registry as it was before it had a column for the origin."""
    transition = "run_id, n, state, at, reason, attempt"
    connection.execute(
        "UPDATE transitions SET reason = 'imported from an archive' WHERE run_id = ? AND n ="
        " (SELECT max(n) FROM transitions WHERE run_id = ?)",
        (imported, imported),
    )
    connection.execute(f"UPDATE transitions SET checksum = row_checksum({transition})")
    connection.execute("DROP TABLE exit_proofs")
    connection.execute("DROP INDEX runs_by_name")
    younger = columns_younger_than(2)
    for column in younger:
        connection.execute(f"ALTER TABLE runs DROP COLUMN {column}")
    columns = ", ".join(name for name in RUN_COLUMNS if name not in younger)
    connection.execute(f"UPDATE runs SET checksum = row_checksum({columns})")
    connection.execute("PRAGMA user_version = 2")


async def test_a_registry_of_before_finds_where_its_runs_came_from_in_their_configs(
    home: Home,
) -> None:
    registry = await Registry.open(home)
    parent, child = await submit(registry, home), await submit(registry, home)
    await registry.close()
    request = EvaluateRequest(policy=str(home.run(parent).directory / "step_300.model"))
    config = {"metadata": {"worker": {"config": request.settings()}}}
    atomic_write_json(home.config(child), config)
    with closing(sqlite3.connect(home.registry)) as connection, connection:
        connection.create_function("row_checksum", -1, lambda *values: row_checksum(values))
        rewrite_as_version_2(connection, parent)
    registry = await Registry.open(home)
    assert registry.recovery.sentence == ""
    assert (await registry.get(parent)).lineage is None
    assert (await registry.get(child)).lineage == Lineage(parent, LineageKind.EVALUATED, 300)
    listed = {record.run_id: record.lineage for record in (await registry.list())[0]}
    assert listed[child] == Lineage(parent, LineageKind.EVALUATED, 300)
    await registry.close()


async def test_a_later_script_needs_no_list_of_columns_for_the_checksums(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = await Registry.open(home)
    await submit(registry, home)
    await registry.close()
    scripts = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, scripts)
    (scripts / "9999_colour.sql").write_text("ALTER TABLE runs ADD COLUMN colour TEXT;")
    monkeypatch.setattr(schema, "MIGRATIONS", scripts)
    with closing(schema.connect(home.registry)) as connection:
        schema.migrate(connection)
        columns = ", ".join([*RUN_COLUMNS, "colour", "checksum"])
        ((*values, checksum),) = connection.execute(f"SELECT {columns} FROM runs").fetchall()
    assert checksum == row_checksum(values)
