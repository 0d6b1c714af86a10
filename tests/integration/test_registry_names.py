"""No two runs of a home have the same name, however they came in; labels outlive what runs do."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.registry.rows import RUN_COLUMNS, columns_younger_than, row_checksum
from mosaic.errors import ConfigError
from mosaic.paths import Home
from tests.registry_samples import end, made_home, new_run, submit


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


async def names_of(registry: Registry) -> list[str]:
    """The oldest first."""
    return [record.run_name for record in reversed((await registry.list())[0])]


async def three_alike(registry: Registry, home: Home) -> list[str]:
    ids = [await submit(registry, home, new_run("ours")) for _ in range(3)]
    for run_id in ids:
        await end(registry, run_id, RunState.INIT, 0, Outcome.CANCELED)
    return ids


async def test_runs_of_one_name_are_numbered_and_keep_their_numbers(home: Home) -> None:
    registry = await Registry.open(home)
    first, second, _ = await three_alike(registry, home)
    assert await names_of(registry) == ["ours", "ours#2", "ours#3"]
    trashed = await registry.entry(second)
    await registry.delete(first)
    await registry.delete(second)
    assert await names_of(registry) == ["ours#3"]
    await submit(registry, home, new_run("ours"))
    await submit(registry, home, new_run("ours"))
    assert await names_of(registry) == ["ours#3", "ours", "ours#4"]
    await registry.put_back(trashed)
    assert (await registry.get(second)).run_name == "ours#2"
    await registry.close()


async def test_a_run_that_comes_back_never_takes_the_name_of_another(home: Home) -> None:
    registry = await Registry.open(home)
    first, *_ = await three_alike(registry, home)
    trashed = await registry.entry(first)
    await registry.delete(first)
    await submit(registry, home, new_run("ours"))
    await registry.put_back(trashed)
    assert (await registry.get(first)).run_name == "ours#4"
    await registry.close()


async def test_labels_outlive_a_lost_registry(home: Home) -> None:
    registry = await Registry.open(home)
    _, second, third = await three_alike(registry, home)
    await registry.label(third, LabelChange(name="the good one", add_tags=("a", "b"), note="n\nm"))
    before = (await registry.get(third)).updated_at
    await registry.label(third, LabelChange(add_tags=("c",), remove_tags=("a",)))
    assert (await registry.get(third)).updated_at == before, "a label does not date a run"
    queued = await submit(registry, home, new_run("ours"))
    await registry.close()
    for path in home.trainer.glob("registry*"):
        path.unlink()
    registry = await Registry.open(home)
    record = await registry.get(third)
    assert (record.run_name, record.tags, record.note) == ("the good one", ("b", "c"), "n\nm")
    assert (await registry.get(second)).run_name == "ours#2"
    assert (await registry.get(queued)).run_name == "ours#3"
    await registry.close()


async def test_renaming_finds_a_free_name_and_may_be_repeated(home: Home) -> None:
    registry = await Registry.open(home)
    ids = await three_alike(registry, home)
    await registry.label(ids[2], LabelChange(name="other"))
    for _ in range(2):
        await registry.label(ids[2], LabelChange(name="ours"))
        assert (await registry.get(ids[2])).run_name == "ours#3"
    await registry.label(ids[2], LabelChange(name="ours#3"))
    assert await names_of(registry) == ["ours", "ours#2", "ours#3"]
    with pytest.raises(ConfigError, match="21 tags"):
        tags = tuple(f"t{number}" for number in range(21))
        await registry.label(ids[0], LabelChange(add_tags=tags))
    assert (await registry.get(ids[0])).tags == ()
    await registry.close()


async def test_the_runs_of_an_older_home_are_told_apart(home: Home) -> None:
    registry = await Registry.open(home)
    ids = await three_alike(registry, home)
    await registry.close()
    with closing(sqlite3.connect(home.registry)) as connection, connection:
        connection.create_function("row_checksum", -1, lambda *values: row_checksum(values))
        connection.execute("DROP INDEX runs_by_name")
        younger = columns_younger_than(5)
        for column in younger:
            connection.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        connection.execute("UPDATE runs SET run_name = 'ours'")
        columns = ", ".join(name for name in RUN_COLUMNS if name not in younger)
        connection.execute(f"UPDATE runs SET checksum = row_checksum({columns})")
        connection.execute("PRAGMA user_version = 6")
    registry = await Registry.open(home)
    assert registry.recovery.sentence == ""
    assert await names_of(registry) == ["ours", "ours#2", "ours#3"]
    assert [(await registry.get(run_id)).tags for run_id in ids] == [(), (), ()]
    await registry.close()
