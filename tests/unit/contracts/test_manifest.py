"""A manifest is read as it was written; anything else is refused by name, never with a crash."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.manifest import (
    MANIFEST_VERSION,
    AnalyticsManifest,
    CheckpointEntry,
    DependencyBundle,
    TensorBoardArtifact,
    WandbArtifact,
    artifact_path,
    read_manifest,
)
from mosaic.errors import CorruptStoreError

WHOLE = AnalyticsManifest(
    run_id="R",
    worker_type="w",
    status="completed",
    attempt=2,
    created_at=1.5,
    updated_at=2.5,
    tensorboard=TensorBoardArtifact(True, "tb"),
    wandb=WandbArtifact(True, "online", "p", "e", "abc", "https://example.org/x", "wandb"),
    optuna_db_path="study.db",
    checkpoints=(CheckpointEntry("a.bin", 3, "ab", 1.5, True, True),),
    videos=("videos/a.mp4",),
    evaluation_path="eval_summary.json",
    bundle=DependencyBundle("dist", "1.0", "3.11.7", {"torch": "2.0"}),
    other_bundles=(DependencyBundle(name="scripts", lock_hash="ab", accelerator="cpu"),),
    notes="ünï",
    metadata={"any": [1, None, {"deep": True}]},
)


def written(folder: Path, content: Any) -> Path:
    path = folder / "analytics.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(json.dumps(content))
    return path


def test_every_field_comes_back(tmp_path: Path) -> None:
    assert read_manifest(written(tmp_path, WHOLE.to_dict())) == WHOLE


def test_there_is_none_where_there_is_no_file(tmp_path: Path) -> None:
    assert read_manifest(tmp_path / "analytics.json") is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"run_id": 5}, "run_id"),
        ({"status": "dancing"}, "status"),
        ({"attempt": 0}, "attempt"),
        ({"updated_at": "yesterday"}, "updated_at"),
        ({"tensorboard": {"enabled": "yes"}}, "tensorboard.enabled"),
        ({"tensorboard": None}, "tensorboard"),
        ({"wandb": {"key": "x"}}, "wandb.key"),
        ({"checkpoints": 5}, "checkpoints"),
        ({"checkpoints": [{"path": "a", "step": 1}, {"path": "b", "step": 1.5}]}, "[1].step"),
        ({"videos": ["a", 1]}, "videos[1]"),
        ({"bundle": {"packages": {"torch": 2}}}, "bundle.packages.torch"),
        ({"other_bundles": [{"name": 7}]}, "other_bundles[0].name"),
        ({"metadata": []}, "metadata"),
        ({"foreign": 1}, "foreign"),
        ({"manifest_version": MANIFEST_VERSION + 1}, "manifest_version"),
        ({"manifest_version": "2"}, "manifest_version"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    path = written(tmp_path, {**WHOLE.to_dict(), **change})
    with pytest.raises(CorruptStoreError) as caught:
        read_manifest(path)
    assert field in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.details["field"].endswith(field)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b"[" * 100_000, b'{"run_id": NaN}', b"{}"],
    ids=["empty", "torn", "list", "null", "no text", "deep", "nan", "nothing in it"],
)
def test_what_is_no_manifest_is_said(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path, content)
    with pytest.raises(CorruptStoreError, match=r"analytics\.json"):
        read_manifest(path)


def test_a_folder_and_an_unreadable_file_are_no_crash(tmp_path: Path) -> None:
    with pytest.raises(CorruptStoreError, match="cannot be read"):
        read_manifest(tmp_path)
    path = written(tmp_path, WHOLE.to_dict())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(CorruptStoreError, match="cannot be read"):
        read_manifest(path)


def test_the_first_version_is_still_understood() -> None:
    old: dict[str, Any] = {
        "run_id": "R",
        "worker_type": "w",
        "manifest_version": 1,
        "bundle": "torch-cpu",
        "metadata": {"status": "completed", "attempt": 3, "steps": 7},
    }
    manifest = AnalyticsManifest.from_dict(old)
    assert (manifest.status, manifest.attempt) == ("completed", 3)
    assert manifest.bundle.distribution == "torch-cpu"
    assert manifest.metadata == {"steps": 7}
    assert manifest.manifest_version == MANIFEST_VERSION
    assert old["metadata"]["status"] == "completed"  # what was handed in is not changed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(WHOLE.to_dict())), JSON, max_size=4))
def test_any_document_is_read_or_refused(change: dict[str, Any]) -> None:
    try:
        manifest = AnalyticsManifest.from_dict({**WHOLE.to_dict(), **change})
    except CorruptStoreError:
        return
    assert AnalyticsManifest.from_dict(manifest.to_dict()) == manifest


def test_a_path_of_a_manifest_leads_into_the_run(tmp_path: Path) -> None:
    (tmp_path / "run" / "inside").mkdir(parents=True)
    run = tmp_path / "run"
    (run / "link").symlink_to("inside")
    (run / "way-out").symlink_to("..")
    for named in ("inside", "./a/../inside", "link", str(run / "inside")):
        assert artifact_path(run, named, "videos", may_leave=False) == run / "inside"
    for named in ("..", "../run2", "/etc/passwd", "inside/../../x", "way-out", "way-out/x"):
        with pytest.raises(CorruptStoreError, match=r"analytics\.json: 'videos':.*leads out"):
            artifact_path(run, named, "videos", may_leave=False)


def test_a_run_made_here_may_name_what_its_script_wrote_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "study.db"
    run = tmp_path / "run"
    for named in (str(elsewhere), "../elsewhere/study.db"):
        assert artifact_path(run, named, "optuna_db_path", may_leave=True) == elsewhere


@pytest.mark.parametrize("named", ["a\0b", "x/" * 4000])
@pytest.mark.parametrize("may_leave", [True, False])
def test_what_is_no_path_is_said(named: str, may_leave: bool, tmp_path: Path) -> None:
    with pytest.raises(CorruptStoreError, match="'videos'"):
        artifact_path(tmp_path, named, "videos", may_leave=may_leave)
