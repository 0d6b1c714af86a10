"""Keeping with a registry and a disk that refuse: every action is done or was never begun."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from mosaic.daemon.keeping.keeper import Keeping
from mosaic.daemon.keeping.trash import Trash
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.registry.store import RegistryStore
from mosaic.errors import RunStateError, StoreError, UnknownRunError
from mosaic.paths import Home
from tests.kept_runs import finished_run, keeping_of, picture, traces
from tests.registry_samples import made_home, new_run, submit


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


@pytest.fixture
async def registry(home: Home) -> AsyncIterator[Registry]:
    registry = await Registry.open(home)
    yield registry
    await registry.close()


@pytest.fixture
def keeping(home: Home, registry: Registry) -> Keeping:
    return keeping_of(home, registry)


def no_space(*_: Any) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


async def test_on_a_full_disk_only_deleting_for_good_works(
    home: Home, registry: Registry, keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await finished_run(registry, home)
    before = picture(home, run_id)
    monkeypatch.setattr(Trash, "take", no_space)
    with pytest.raises(StoreError, match="No space") as caught:
        await keeping.trash.delete(run_id)
    assert "--for-good" in caught.value.hint
    assert picture(home, run_id) == before
    assert (await keeping.trash.delete(run_id, for_good=True)).freed_bytes > 10_000
    assert traces(home, run_id) == []
    with pytest.raises(UnknownRunError):
        await registry.get(run_id)


async def test_a_registry_that_refuses_brings_the_files_back(
    home: Home, registry: Registry, keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = await finished_run(registry, home)
    before = picture(home, run_id)

    def full(store: RegistryStore, run_id: str) -> None:
        raise StoreError("The registry cannot be used: database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(RegistryStore, "delete", full)
        with pytest.raises(StoreError):
            await keeping.trash.delete(run_id)
    assert picture(home, run_id) == before and await keeping.trash.runs() == []
    await keeping.trash.delete(run_id)

    def also_full(store: RegistryStore, entry: Any) -> None:
        full(store, "")

    with monkeypatch.context() as patch:
        patch.setattr(RegistryStore, "put_back", also_full)
        with pytest.raises(StoreError):
            await keeping.trash.restore(run_id)
    assert picture(home, run_id) == {} and len(await keeping.trash.runs()) == 1
    await keeping.trash.restore(run_id)
    assert picture(home, run_id) == before


async def test_a_folder_in_the_way_stops_a_restore_and_loses_neither(
    home: Home, registry: Registry, keeping: Keeping
) -> None:
    run_id = await finished_run(registry, home)
    await keeping.trash.delete(run_id)
    stranger = home.run(run_id).directory / "precious"
    stranger.parent.mkdir()
    stranger.write_text("x")
    with pytest.raises(StoreError, match="exists"):
        await keeping.trash.restore(run_id)
    assert stranger.read_text() == "x" and len(await keeping.trash.runs()) == 1
    with pytest.raises(UnknownRunError):
        await registry.get(run_id)
    await keeping.start()  # a restart changes nothing about it
    assert stranger.read_text() == "x" and len(await keeping.trash.runs()) == 1


async def test_a_client_key_used_again_meanwhile_stays_with_the_new_run(
    home: Home, registry: Registry, keeping: Keeping
) -> None:
    old = await finished_run(registry, home, client_key="key")
    await keeping.trash.delete(old)
    new = await submit(registry, home, new_run(client_key="key"))
    assert (await keeping.trash.restore(old)).run_id == old
    assert await registry.find_client_key("key") == new


async def test_a_deleted_run_does_not_come_back_with_a_lost_registry(home: Home) -> None:
    registry = await Registry.open(home)
    keeping = keeping_of(home, registry)
    deleted, kept = await finished_run(registry, home), await finished_run(registry, home)
    await registry.backup()  # an old backup still knows both
    await keeping.trash.delete(deleted)
    await registry.close()
    for path in home.trainer.glob("registry.sqlite*"):
        path.unlink()
    again = await Registry.open(home)
    keeper = keeping_of(home, again)
    await keeper.start()
    assert [run.run_id for run in (await again.list())[0]] == [kept]
    record = await keeper.trash.restore(deleted)
    assert len(record.transitions) == 3
    await again.close()


async def test_a_trashed_run_is_not_deleted_twice_nor_imported_over(
    home: Home, registry: Registry, keeping: Keeping
) -> None:
    run_id = await finished_run(registry, home)
    await keeping.trash.delete(run_id)
    with pytest.raises(UnknownRunError):
        await keeping.trash.delete(run_id)
    await keeping.trash.restore(run_id)
    with pytest.raises(UnknownRunError):
        await keeping.trash.restore(run_id)
    live = await submit(registry, home)
    with pytest.raises(RunStateError, match="not over"):
        await keeping.trash.delete(live)
