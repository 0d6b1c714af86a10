"""What a run leaves in shared memory goes; what others left there stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.runhost.shared_memory import unlink_shared_memory

NOBODY = 65534


def test_names_with_a_prefix_go_and_others_stay(tmp_path: Path) -> None:
    for name in ("mosaic.RUN", "mosaic.RUN.2", "mosaic.OTHER", "x"):
        (tmp_path / name).touch()
    (tmp_path / "mosaic.RUN.folder" / "deep").mkdir(parents=True)
    assert sorted(unlink_shared_memory(["mosaic.RUN", ""], tmp_path)) == [
        "mosaic.RUN", "mosaic.RUN.2", "mosaic.RUN.folder",
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mosaic.OTHER", "x"]


def test_of_a_link_the_link_goes_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    shared, victim = tmp_path / "shm", tmp_path / "victim"
    shared.mkdir()
    victim.mkdir()
    (victim / "letter").write_text("dear")
    (shared / "mosaic.RUN.a").symlink_to(victim)
    (shared / "mosaic.RUN.b").mkdir()
    (shared / "mosaic.RUN.b" / "c").symlink_to(victim)
    assert len(unlink_shared_memory(["mosaic.RUN"], shared)) == 2
    assert list(shared.iterdir()) == []
    assert (victim / "letter").read_text() == "dear"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_stays(tmp_path: Path) -> None:
    (tmp_path / "mosaic.RUN").touch()
    os.chown(tmp_path / "mosaic.RUN", NOBODY, NOBODY)
    assert unlink_shared_memory(["mosaic.RUN"], tmp_path) == ()
    assert (tmp_path / "mosaic.RUN").exists()


def test_no_shared_memory_is_nothing_to_do(tmp_path: Path) -> None:
    assert unlink_shared_memory(["mosaic.RUN"], tmp_path / "gone") == ()
    assert unlink_shared_memory([], tmp_path) == ()


def test_what_took_the_place_of_a_segment_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "run.folder").mkdir()
    (tmp_path / "run.folder" / "file").touch()
    (tmp_path / "run.folder" / "link").symlink_to(kept)
    (tmp_path / "run.link").symlink_to(kept)
    os.mkfifo(tmp_path / "run.pipe")
    assert len(unlink_shared_memory(["run"], folder=tmp_path)) == 3
    assert list(tmp_path.iterdir()) == [kept]


def test_no_shared_memory_folder_is_no_error(tmp_path: Path) -> None:
    assert unlink_shared_memory(["x"], folder=tmp_path / "missing") == ()


def test_only_segments_with_the_prefix_are_unlinked(tmp_path: Path) -> None:
    for name in ("mosaic.fastlane.A", "mosaic.fastlane.A.1", "mosaic.fastlane.B", "other"):
        (tmp_path / name).touch()
    removed = unlink_shared_memory(["mosaic.fastlane.A", ""], folder=tmp_path)
    assert sorted(removed) == ["mosaic.fastlane.A", "mosaic.fastlane.A.1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mosaic.fastlane.B", "other"]
