"""Which clips are kept, and where they are listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.contracts.manifest import AnalyticsManifest, CheckpointEntry
from mosaic.errors import RunStateError
from mosaic.files import atomic_write_json
from mosaic.frames.videos import ClipFolder, clip_name, clips_to_delete, next_number

RUN = "01K9ZZZZZZZZZZZZZZZZZZZZZZ"


def names(*numbers: int) -> list[str]:
    return [clip_name(number) for number in numbers]


def test_the_newest_are_kept() -> None:
    assert clips_to_delete(names(3, 1, 2, 10), keep=2) == names(1, 2)


def test_newest_is_by_number_and_not_by_spelling() -> None:
    assert clips_to_delete(names(9999, 10000, 999), keep=1) == names(999, 9999)


@pytest.mark.parametrize("keep", [4, 5, 1000])
def test_few_clips_are_all_kept(keep: int) -> None:
    assert clips_to_delete(names(1, 2, 3, 4), keep) == []


def test_what_is_no_clip_is_left_alone() -> None:
    others = ["clip-1.mov", "my-clip-0001.mp4", ".clip-0001.mp4.77.part", "clip-x.mp4", "clip-.mp4"]
    assert clips_to_delete([*others, *names(1)], keep=0) == names(1)


def test_numbers_go_on_after_the_highest() -> None:
    assert next_number([]) == 1
    assert next_number([*names(7, 3), "episode-99.mp4"]) == 8


@pytest.fixture
def folder(tmp_path: Path) -> ClipFolder:
    made = ClipFolder(tmp_path, RUN, "some worker")
    made.path.mkdir()
    return made


def manifest(folder: ClipFolder) -> AnalyticsManifest:
    path = folder.path.parent / "analytics.json"
    return AnalyticsManifest.from_dict(json.loads(path.read_text()))


def fill(folder: ClipFolder, *numbers: int) -> None:
    for name in names(*numbers):
        (folder.path / name).write_bytes(b"a video")


def test_clips_are_listed_where_there_was_no_list(folder: ClipFolder) -> None:
    fill(folder, 1, 2)
    assert folder.retain(20) == []
    listed = manifest(folder)
    assert (listed.run_id, listed.worker_type) == (RUN, "some worker")
    assert listed.videos == ("videos/clip-0001.mp4", "videos/clip-0002.mp4")


def test_what_the_worker_listed_stays(folder: ClipFolder) -> None:
    checkpoint = CheckpointEntry("model", 7)
    before = AnalyticsManifest(
        RUN, "w", checkpoints=(checkpoint,), videos=("videos/x/episode-1.mp4",), notes="mine"
    )
    atomic_write_json(folder.path.parent / "analytics.json", before.to_dict())
    fill(folder, 1, 2, 3)
    assert folder.retain(2) == names(1)
    after = manifest(folder)
    assert after.videos == (
        "videos/x/episode-1.mp4",
        "videos/clip-0002.mp4",
        "videos/clip-0003.mp4",
    )
    assert (after.checkpoints, after.notes) == ((checkpoint,), "mine")
    assert sorted(path.name for path in folder.path.iterdir()) == names(2, 3)


def test_deleted_clips_leave_the_list(folder: ClipFolder) -> None:
    fill(folder, 1, 2)
    folder.retain(2)
    fill(folder, 3)
    folder.retain(2)
    assert manifest(folder).videos == ("videos/clip-0002.mp4", "videos/clip-0003.mp4")


@pytest.mark.parametrize("content", ["not json", "[]", '{"run_id": 1, "of_the_future": 2}'])
def test_a_list_that_is_not_understood_is_not_overwritten(folder: ClipFolder, content: str) -> None:
    path = folder.path.parent / "analytics.json"
    path.write_text(content)
    fill(folder, 1)
    with pytest.raises(RunStateError, match=r"analytics\.json.*not listed there"):
        folder.retain(20)
    assert path.read_text() == content


def test_two_recorders_of_one_run_do_not_mix(folder: ClipFolder) -> None:
    with (
        folder.held(),
        pytest.raises(RunStateError, match="is recording this run"),
        folder.held(),
    ):
        pass
    with folder.held():
        pass
