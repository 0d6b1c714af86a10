"""analytics.json lists what a training leaves as it comes, and is not written for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.kit.training import TrainingFiles
from cleanrl_worker.runtime import ManifestUpdater
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.manifest import AnalyticsManifest, WandbArtifact, read_manifest
from tests.waiting import wait_until


class SomeRun:
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    capabilities = WorkerCapabilities("w")

    def __init__(self, directory: Path) -> None:
        self.directory = directory


class SomeWandb:
    """W&B, which tells its address when it has reached its server."""

    url = ""

    def artifact(self) -> WandbArtifact:
        return WandbArtifact(enabled=True, url=self.url)


@pytest.fixture
def wandb() -> SomeWandb:
    return SomeWandb()


@pytest.fixture
def files(tmp_path: Path, wandb: SomeWandb) -> TrainingFiles:
    folder = tmp_path / "runs" / "a"
    return TrainingFiles(folder, folder, board=None, wandb=wandb)  # type: ignore[arg-type]


def manifest(directory: Path) -> AnalyticsManifest:
    found = read_manifest(directory / "analytics.json")
    assert found is not None
    return found


def test_what_comes_later_is_listed_while_the_training_goes_on(
    tmp_path: Path, files: TrainingFiles, wandb: SomeWandb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cleanrl_worker.runtime.MANIFEST_INTERVAL_S", 0.01)
    run: Any = SomeRun(tmp_path)
    left = ManifestUpdater(run)
    left.begin(files)
    assert manifest(tmp_path).tensorboard.relative_path == "runs/a"
    wandb.url = "https://example.org/run"
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / "one.mp4").write_bytes(b"x")
    wait_until(lambda: manifest(tmp_path).videos == ("videos/one.mp4",))
    wait_until(lambda: manifest(tmp_path).wandb.url == "https://example.org/run")
    left.end()


def test_nothing_new_is_not_written(tmp_path: Path, files: TrainingFiles) -> None:
    run: Any = SomeRun(tmp_path)
    left = ManifestUpdater(run)
    left.begin(files)
    before = manifest(tmp_path).updated_at
    left.refresh()
    left.end()
    assert manifest(tmp_path).updated_at == before


def test_a_training_that_never_opened_files_ends_all_the_same(tmp_path: Path) -> None:
    run: Any = SomeRun(tmp_path)
    ManifestUpdater(run).end()
    assert not (tmp_path / "analytics.json").exists()
