from __future__ import annotations

from pathlib import Path

import pytest

import mosaic
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.daemon.workers.path_links import PathLinks, worker_packages
from mosaic.paths import Home


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution with two packages and a module, beside another that is no business of it."""
    site = tmp_path / "site"
    info = site / "learner-1.5.dist-info"
    for folder in (info, site / "learner", site / "learner_games", site / "stranger"):
        folder.mkdir(parents=True)
    for name in ("learner", "learner_games", "stranger"):
        (site / name / "__init__.py").touch()
    (site / "learner_extra.py").touch()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: learner\nVersion: 1.5\n")
    (info / "top_level.txt").write_text("learner\nlearner_games\nlearner_extra\nnot here\n")
    (info / "entry_points.txt").write_text("[mosaic.workers]\nlearner = learner:describe\n")
    (info / "RECORD").write_text("learner/__init__.py,,\nlearner-1.5.dist-info/METADATA,,\n")
    monkeypatch.syspath_prepend(str(site))
    return site


def test_a_worker_is_linked_with_the_packages_of_its_distribution(
    site: Path, tmp_path: Path
) -> None:
    entry = WorkerEntry("learner", "learner.cli", "/python")
    folder = Path(PathLinks(Home(tmp_path / "home")).path_of(entry))
    links = {link.name: link.resolve() for link in folder.iterdir()}
    assert links == {
        "mosaic": Path(mosaic.__file__).parent,
        "learner": site / "learner",
        "learner_games": site / "learner_games",
        "learner_extra.py": site / "learner_extra.py",
        "learner-1.5.dist-info": site / "learner-1.5.dist-info",
    }


def test_links_follow_what_is_installed(site: Path, tmp_path: Path) -> None:
    paths = PathLinks(Home(tmp_path / "home"))
    entry = WorkerEntry("learner", "learner.cli", "/python")
    folder = Path(paths.path_of(entry))
    (folder / "learner").unlink()
    (folder / "learner").symlink_to("/somewhere/else")
    (folder / "of_old").symlink_to("/somewhere/else")
    assert Path(paths.path_of(entry)) == folder
    assert (folder / "learner").resolve() == site / "learner"
    assert not (folder / "of_old").is_symlink()


def test_a_worker_with_folders_of_its_own_has_mosaic_alone_linked(tmp_path: Path) -> None:
    entry = WorkerEntry("../learner", "learner.cli", "/python", path_dirs=("/learner",))
    paths = PathLinks(Home(tmp_path))
    folder = Path(paths.path_of(entry))
    assert [link.name for link in folder.iterdir()] == ["mosaic"]
    assert folder.parent == Path(paths.sdk).parent == Home(tmp_path).trainer


def test_a_worker_that_is_gone_has_no_packages() -> None:
    assert worker_packages(WorkerEntry("nobody", "nobody_at_all.cli", "/python")) == {}
