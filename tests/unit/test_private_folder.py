"""Only what is ours alone is used; everything else is left as it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.errors import HomeError
from mosaic.paths import make_private
from mosaic.private_folder import NotPrivateError, PrivateFolder, file_problem

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_a_folder_is_made_for_us_alone(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with PrivateFolder.make(place) as folder:
        folder.write("a", b"one")
        folder.write("a", b"two")
        assert folder.files() == ["a"] and folder.read("a", 100) == b"two"
        folder.remove("a")
        folder.remove("a")
        assert folder.files() == []
    assert place.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_ours_that_others_may_enter_is_closed_or_refused(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o755)
    with pytest.raises(NotPrivateError, match="mode 755"):
        PrivateFolder.open(place)
    assert place.stat().st_mode & 0o777 == 0o755, "looking at it changes nothing"
    with PrivateFolder.make(place):
        assert place.stat().st_mode & 0o777 == 0o700


def test_a_link_is_refused_wherever_it_leads(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    before = target.stat().st_mode
    for name, leads_to in (("good", target), ("nowhere", tmp_path / "gone"), ("file", __file__)):
        place = tmp_path / name
        place.symlink_to(leads_to)
        for how in (PrivateFolder.open, PrivateFolder.make):
            with pytest.raises(NotPrivateError, match="link"):
                how(place)
        with pytest.raises(HomeError, match=name) as caught:
            make_private(place)
        assert "XDG_RUNTIME_DIR" in caught.value.hint
    assert target.stat().st_mode == before


def test_a_folder_that_is_not_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        PrivateFolder.open(tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        PrivateFolder.make(tmp_path / "gone" / "place")


def test_replacing_the_path_afterwards_changes_nothing(tmp_path: Path) -> None:
    place, trap = tmp_path / "place", tmp_path / "trap"
    trap.mkdir()
    (trap / "kept").write_text("theirs")
    with PrivateFolder.make(place) as folder:
        place.rename(tmp_path / "moved")
        place.symlink_to(trap)
        folder.write("kept", b"ours")
        assert folder.read("kept", 10) == b"ours"
        folder.remove("kept")
    assert (trap / "kept").read_text() == "theirs"
    assert list((tmp_path / "moved").iterdir()) == []


def test_files_that_are_links_pipes_folders_or_have_two_names_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("x")
    (tmp_path / "outside").chmod(0o600)
    place = tmp_path / "place"
    with PrivateFolder.make(place) as folder:
        (place / "link").symlink_to(tmp_path / "outside")
        (place / "second name").hardlink_to(tmp_path / "outside")
        os.mkfifo(place / "pipe", 0o600)
        (place / "folder").mkdir()
        (place / "open").touch(0o644)
        (place / "open").chmod(0o644)
        assert folder.files() == []
        for name in ("link", "second name", "pipe", "folder", "open"):
            with pytest.raises(OSError):
                folder.read(name, 10)
        folder.write("link", b"new")
        assert folder.read("link", 10) == b"new"
    assert (tmp_path / "outside").read_text() == "x"


def test_no_more_is_read_than_asked_for(tmp_path: Path) -> None:
    with PrivateFolder.make(tmp_path / "place") as folder:
        folder.write("a", b"x" * 1000)
        assert folder.read("a", 10) == b"x" * 10


@needs_root
def test_what_belongs_to_another_user_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir(mode=0o700)
    os.chown(place, NOBODY, NOBODY)
    for how in (PrivateFolder.open, PrivateFolder.make):
        with pytest.raises(NotPrivateError, match=f"another user \\({NOBODY}\\)"):
            how(place)
    assert place.stat().st_uid == NOBODY
    os.chown(place, 0, 0)
    with PrivateFolder.make(place) as folder:
        folder.write("a", b"x")
        os.chown(place / "a", NOBODY, NOBODY)
        assert folder.files() == []
        with pytest.raises(NotPrivateError, match="another user"):
            folder.read("a", 10)
        assert f"another user ({NOBODY})" in str(file_problem((place / "a").stat()))
