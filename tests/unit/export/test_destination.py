from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from mosaic.errors import DiskSpaceError, RequestError
from mosaic.export.destination import MARKER, folder_name, new_export


def write(target: Path, text: str = "new", force: bool = False) -> None:
    with new_export(target, {"export": "test"}, force) as destination:
        (destination.folder / "data.txt").write_text(text)
        destination.about["rows"] = 1


def test_an_export_appears_as_a_whole_and_says_what_it_is(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "out"
    with new_export(target, {"export": "test"}) as destination:
        (destination.folder / "data.txt").write_text("x")
        assert not target.exists()
    assert sorted(path.name for path in target.iterdir()) == ["data.txt", MARKER]
    assert json.loads((target / MARKER).read_text())["export"] == "test"
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_a_failed_export_leaves_nothing_not_even_the_folders_above(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        new_export(tmp_path / "deep" / "out", {}) as destination,
    ):
        (destination.folder / "data.txt").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_replaced_only_with_force_and_only_when_it_is_an_export(
    tmp_path: Path,
) -> None:
    target = tmp_path / "out"
    write(target, "old")
    with pytest.raises(RequestError, match="exists already"):
        write(target)
    assert (target / "data.txt").read_text() == "old"
    write(target, force=True)
    assert (target / "data.txt").read_text() == "new"
    (target / MARKER).unlink()
    with pytest.raises(RequestError, match="other things"):
        write(target, "third", force=True)
    assert (target / "data.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_forced_export_that_fails_keeps_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    write(target, "old")
    with pytest.raises(ZeroDivisionError), new_export(target, {}, force=True):
        raise ZeroDivisionError
    assert (target / "data.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_may_be_filled_but_a_file_or_a_link_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for name in ("file", "link"):
        with pytest.raises(RequestError, match="not a folder"):
            write(tmp_path / name, force=True)
    assert (tmp_path / "file").read_text() == "mine"


def test_somebody_who_is_faster_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(RequestError, match="meanwhile"), new_export(target, {}):
        target.mkdir()
        (target / "theirs").write_text("first")
    assert (target / "theirs").read_text() == "first"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RequestError, match=r"out cannot be written: Permission denied"):
            write(tmp_path / "out")
    finally:
        tmp_path.chmod(0o700)


def test_a_folder_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match=r"out cannot be written: .*file is not a folder"):
        write(tmp_path / "file" / "out")


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DiskSpaceError, match="no room"), new_export(tmp_path / "out", {}):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ppo CartPole, seed 1", "ppo_CartPole_seed_1"),
        ("...", "run"),
        ("-rf", "rf"),
        ("~", "_"),
        ("größe=3", "größe=3"),
        ("日" * 100, "日" * 50),
    ],
)
def test_a_run_name_becomes_a_harmless_file_name(name: str, expected: str) -> None:
    assert folder_name(name) == expected
