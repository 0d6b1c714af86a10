"""What is found in a script's folder, and what is left alone."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from mosaic.watch import artifacts
from mosaic.watch.artifacts import (
    MAX_DEPTH,
    MAX_FILES,
    ArtifactKind,
    FoundFile,
    catalogue,
    common_folder,
    kind_of,
    new_files,
    step_of,
    wandb_run,
)


def touch(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found(root: Path, since: float = 0.0) -> dict[str, ArtifactKind]:
    return {
        str(PurePosixPath(file.path).relative_to(root)): file.kind
        for file in new_files(root, since)
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("events.out.tfevents.1700.host.1.0", ArtifactKind.TENSORBOARD),
        ("run-abc.wandb", ArtifactKind.WANDB),
        ("ppo.cleanrl_model", ArtifactKind.CHECKPOINT),
        ("best.PT", ArtifactKind.CHECKPOINT),
        ("m.safetensors", ArtifactKind.CHECKPOINT),
        ("model.zip", ArtifactKind.ARCHIVE),
        ("rl-video-episode-0.mp4", ArtifactKind.VIDEO),
        (".model.pt", None),
        ("train.py", None),
        ("pt", None),
    ],
)
def test_names_say_what_a_file_is(name: str, kind: ArtifactKind | None) -> None:
    assert kind_of(name) is kind


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("rl_model_10000_steps.zip", 10_000),
        ("step=500-val.ckpt", 500),
        ("model_250.pt", 250),
        ("epoch-3.pth", 3),
        ("best_model.zip", None),
        ("resnet18.pt", None),
    ],
)
def test_the_step_in_a_name(name: str, step: int | None) -> None:
    assert step_of(PurePosixPath(name)) == step


def test_a_catalogue_keeps_the_newest_of_many_in_order() -> None:
    files = [
        FoundFile(PurePosixPath(f"/r/m{number}.pt"), ArtifactKind.CHECKPOINT, float(number))
        for number in reversed(range(MAX_FILES + 5))
    ]
    kept = catalogue(files).checkpoints
    assert [file.modified_at for file in kept] == [float(n) for n in range(5, MAX_FILES + 5)]


def test_a_file_that_is_still_empty_waits_for_the_next_look() -> None:
    assert (
        catalogue([FoundFile(PurePosixPath("/a.pt"), ArtifactKind.CHECKPOINT, 1.0, 0)]).checkpoints
        == ()
    )


def test_several_log_folders_are_shown_by_the_one_above_them() -> None:
    paths = [PurePosixPath("/home/me/runs/a"), PurePosixPath("/home/me/runs/b/c")]
    assert common_folder(paths) == PurePosixPath("/home/me/runs")
    assert common_folder(paths[:1]) == paths[0]
    assert common_folder([]) is None
    apart = [PurePosixPath("/a/x"), PurePosixPath("/b/y")]
    assert common_folder(apart) == apart[0]


def test_a_wandb_folder_tells_mode_and_run() -> None:
    assert wandb_run(PurePosixPath("/w/offline-run-2026-xyz9")) == ("offline", "xyz9")
    assert wandb_run(PurePosixPath("/w/run-2026-xyz9")) == ("online", "xyz9")
    assert wandb_run(PurePosixPath("/w/other")) == ("online", "")


def test_only_what_is_new_is_found(tmp_path: Path) -> None:
    old = touch(tmp_path / "old.pt")
    os.utime(old, (1000, 1000))
    touch(tmp_path / "runs" / "a" / "events.out.tfevents.1")
    touch(tmp_path / "videos" / "clip.mp4")
    touch(tmp_path / "notes.txt")
    assert found(tmp_path, since=5000) == {
        "runs/a/events.out.tfevents.1": ArtifactKind.TENSORBOARD,
        "videos/clip.mp4": ArtifactKind.VIDEO,
    }


def test_tools_environments_links_and_depths_are_left_alone(tmp_path: Path) -> None:
    touch(tmp_path / ".git" / "a.pt")
    touch(tmp_path / "node_modules" / "a.pt")
    touch(tmp_path / "mine" / "pyvenv.cfg")
    touch(tmp_path / "mine" / "lib" / "a.pt")
    touch(tmp_path / "mine" / "b.pt")
    elsewhere = touch(tmp_path.parent / f"{tmp_path.name}-elsewhere" / "a.pt")
    (tmp_path / "linked").symlink_to(elsewhere.parent)
    (tmp_path / "linked.pt").symlink_to(elsewhere)
    (tmp_path / "loop").symlink_to(tmp_path)
    deep = tmp_path.joinpath(*["d"] * MAX_DEPTH)
    touch(deep / "reached.pt")
    touch(deep / "d" / "beyond.pt")
    os.mkfifo(tmp_path / "pipe.pt")
    assert [PurePosixPath(name).name for name in found(tmp_path)] == ["reached.pt"]


def test_an_archive_counts_only_as_a_saved_model(tmp_path: Path) -> None:
    for name, members in (("model.zip", ("data", "policy.pth")), ("data.zip", ("a.csv", "b.csv"))):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member in members:
                archive.writestr(member, "x")
    touch(tmp_path / "broken.zip", b"PK\x03\x04 nothing")
    assert found(tmp_path) == {"model.zip": ArtifactKind.ARCHIVE}


def test_a_huge_folder_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "MAX_ENTRIES", 10)
    for number in range(30):
        touch(tmp_path / f"{number}.pt")
    assert len(new_files(tmp_path, 0.0)) == 10


def test_a_folder_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert new_files(tmp_path / "gone", 0.0) == []


SQLITE = b"SQLite format 3\0" + bytes(84)


@pytest.mark.parametrize(
    ("name", "content", "is_found"),
    [
        ("search.db", SQLITE + b"CREATE TABLE study_directions (", True),
        ("search.sqlite3", SQLITE + b"CREATE TABLE study_directions (", True),
        ("app.db", SQLITE + b"CREATE TABLE users (", False),
        ("text.db", b"study_directions", False),
        ("optuna.journal", b'{"op_code": 0, "worker_id": "w", "study_name": "s"}\n', True),
        ("optuna.log", b'{"op_code": 0}\n', True),
        ("training.log", b'step 1\n{"op_code": 0}\n', False),
        ("events.log", b'{"loss": 1}\n{"op_code": 0}\n', False),
    ],
)
def test_a_study_is_known_by_what_is_in_it(
    tmp_path: Path, name: str, content: bytes, is_found: bool
) -> None:
    path = touch(tmp_path / name, content)
    assert found(tmp_path) == ({name: ArtifactKind.STUDY} if is_found else {})
    studies = catalogue(new_files(tmp_path, 0.0)).studies
    assert studies == ((PurePosixPath(path),) if is_found else ())
