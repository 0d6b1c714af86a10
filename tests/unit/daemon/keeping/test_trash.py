"""The trash as files: links, missing folders, second runs, read-only folders, damaged notes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mosaic.daemon.keeping import trash as trash_module
from mosaic.daemon.keeping.archive.bundle import (
    files_below,
    put_run_back,
    remove_tree,
    size_below,
    size_of_run,
)
from mosaic.daemon.keeping.trash import Trash, discard, leftovers
from mosaic.daemon.registry.documents import RunEntry, write_row_file
from mosaic.errors import CorruptStoreError, RunStateError, UnknownRunError
from mosaic.paths import Home
from tests.forged_archives import entry_of
from tests.kept_runs import fill, picture, traces
from tests.registry_samples import made_home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return made_home(tmp_path)


def laid_down(home: Home) -> RunEntry:
    entry = entry_of()
    fill(home.run(entry.run_id).directory, entry.run_id)
    write_row_file(home.run(entry.run_id), entry.row)
    home.config(entry.run_id).write_text("{}")
    home.worker_config(entry.run_id, 4).write_text("{}")
    return entry


def test_a_deleted_run_is_in_the_trash_only_with_when_and_why(home: Home) -> None:
    entry = laid_down(home)
    size = size_of_run(home, entry.run_id)
    Trash(home).take(entry, "older than 3 days", size, 77.0)
    assert picture(home, entry.run_id) == {}
    (run,) = Trash(home).runs()
    assert (run.run_id, run.run_name, run.deleted_at) == (entry.run_id, "a run", 77.0)
    assert (run.bytes, run.reason) == (size, "older than 3 days")
    assert Trash(home).entry(entry.run_id) == entry


def test_emptying_leaves_no_trace(home: Home) -> None:
    entry = laid_down(home)
    Trash(home).take(entry, "user", 1, 0.0)
    assert Trash(home).empty(entry.run_id) > 10_000
    assert traces(home, entry.run_id) == [] and leftovers(home) == []
    with pytest.raises(UnknownRunError):
        Trash(home).empty(entry.run_id)


@pytest.mark.parametrize("run_id", ["..", "../runs", "", ".gone-x", "a" * 26])
def test_what_is_no_run_id_touches_nothing(home: Home, run_id: str) -> None:
    with pytest.raises(UnknownRunError):
        Trash(home).empty(run_id)
    with pytest.raises(UnknownRunError):
        Trash(home).entry(run_id)
    assert home.runs.is_dir()


def test_a_second_run_of_the_same_id_does_not_replace_the_first(home: Home) -> None:
    entry = laid_down(home)
    Trash(home).take(entry, "user", 1, 0.0)
    fill(home.run(entry.run_id).directory, entry.run_id)
    before = picture(home, entry.run_id)
    with pytest.raises(RunStateError, match="another run"):
        Trash(home).take(entry, "user", 1, 1.0)
    assert picture(home, entry.run_id) == before
    with pytest.raises(FileExistsError):
        put_run_back(Trash(home).found(entry.run_id), home, entry.run_id)


def test_a_run_whose_folder_is_missing_can_be_deleted(home: Home) -> None:
    entry = entry_of()
    home.config(entry.run_id).write_text("{}")
    bundle = Trash(home).take(entry, "user", 0, 0.0)
    assert not bundle.has_run and not home.config(entry.run_id).exists()
    assert [run.run_id for run in Trash(home).runs()] == [entry.run_id]


def test_a_folder_that_is_a_link_moves_as_a_link(home: Home, tmp_path: Path) -> None:
    entry = entry_of()
    outside = tmp_path / "outside"
    fill(outside, entry.run_id)
    home.run(entry.run_id).directory.symlink_to(outside)
    assert size_of_run(home, entry.run_id) == 0
    Trash(home).take(entry, "user", 0, 0.0)
    Trash(home).empty(entry.run_id)
    assert (outside / "outputs" / "model.bin").exists()
    assert traces(home, entry.run_id) == []


def test_links_inside_a_run_are_not_followed(home: Home, tmp_path: Path) -> None:
    entry = laid_down(home)
    outside = tmp_path / "precious"
    outside.mkdir()
    (outside / "file").write_bytes(bytes(1_000_000))
    folder = home.run(entry.run_id).directory
    (folder / "link").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    assert size_below(folder) < 100_000
    Trash(home).take(entry, "user", 1, 0.0)
    Trash(home).empty(entry.run_id)
    assert (outside / "file").exists()


def test_a_link_in_the_place_of_a_parcel_is_replaced_not_followed(
    home: Home, tmp_path: Path
) -> None:
    entry = laid_down(home)
    outside = tmp_path / "precious"
    outside.mkdir()
    (home.trash / entry.run_id).symlink_to(outside)
    assert Trash(home).runs() == []
    with pytest.raises(UnknownRunError):
        Trash(home).empty(entry.run_id)
    Trash(home).take(entry, "user", 1, 0.0)
    assert list(outside.iterdir()) == []


def test_folders_without_rights_are_removed_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "stubborn"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").write_text("x")
    (folder / "inner").chmod(0o500)
    folder.chmod(0o500)
    remove_tree(folder)
    assert not folder.exists()


def test_without_its_notes_a_run_is_known_from_its_run_file(home: Home) -> None:
    entry = laid_down(home)
    bundle = Trash(home).take(entry, "user", 1, 0.0)
    for content in ("", "{", "[]", "null", '{"version": 1, "run": 3}'):
        bundle.entry.write_text(content)
        assert Trash(home).entry(entry.run_id).row == entry.row
        (run,) = Trash(home).runs()
        assert run.run_id == entry.run_id and run.bytes > 10_000
    (bundle.run / "run.json").unlink()
    with pytest.raises(CorruptStoreError, match="cannot be read"):
        Trash(home).entry(entry.run_id)


def test_the_notes_of_another_run_are_not_believed(home: Home) -> None:
    first, second = laid_down(home), laid_down(home)
    trash = Trash(home)
    one, two = trash.take(first, "user", 1, 0.0), trash.take(second, "user", 1, 0.0)
    one.entry.write_bytes(two.entry.read_bytes())
    assert trash.entry(first.run_id).run_id == first.run_id


def test_time_is_up_after_so_many_days_and_not_when_the_clock_was_set_back(home: Home) -> None:
    old, new, future = laid_down(home), laid_down(home), laid_down(home)
    day = 86_400.0
    for entry, at in ((old, 0.0), (new, 6 * day), (future, 900 * day)):
        Trash(home).take(entry, "user", 1, at)
    assert Trash(home).overdue(7, now=8 * day) == [old.run_id]
    assert Trash(home).overdue(7, now=7 * day) == []
    assert set(Trash(home).overdue(0, now=8 * day)) == {old.run_id, new.run_id}


def test_a_discarded_run_leaves_nothing(home: Home) -> None:
    entry = laid_down(home)
    discard(home, entry.run_id)
    assert traces(home, entry.run_id) == []
    discard(home, entry.run_id)


def test_files_that_vanish_while_they_are_listed_do_not_matter(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_text("x")
    listing = files_below(tmp_path)
    assert next(listing)[0] == "a"
    os.unlink(tmp_path / "sub" / "file")
    os.rmdir(tmp_path / "sub")
    assert [name for name, _ in listing] == ["b", "c"]


@pytest.mark.parametrize("step", ["atomic_write_json", "move_in"])
def test_a_disk_without_room_leaves_the_run_where_it_was(
    home: Home, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    entry = laid_down(home)
    before = picture(home, entry.run_id)
    real = getattr(trash_module, step)

    def full(*arguments: object) -> None:
        real(*arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(trash_module, step, full)
    with pytest.raises(OSError, match="No space"):
        Trash(home).take(entry, "user", 1, 0.0)
    assert picture(home, entry.run_id) == before
    assert Trash(home).runs() == []
