"""Files that only an index of the bundle itself has: asked for when missing, and not before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mosaic.contracts.bundles import InstallPhase
from mosaic.errors import BundleError
from tests.support.bundle_builds import TOOLS, Builds, end_of, lock_of
from tests.support.tiny_wheels import make_wheel
from tests.support.wheel_index import WheelIndex, closed_port_url, write_index
from tests.waiting import PATIENCE_S


class Places:
    """An index as pip is set up with it, and one that a bundle names for a build of its makers."""

    def __init__(self, folder: Path, tool: str) -> None:
        alpha = make_wheel(folder / "public", "alpha")
        # What the lock does not name, under a name and version that it does.
        other = make_wheel(folder / "makers", "alpha", code="# the makers' own")
        heavy = make_wheel(folder / "makers", "heavy", "2.0+cpu")
        plain = make_wheel(folder / "public", "heavy", "2.0")
        self.wheels = [alpha, heavy]
        self.lock = lock_of(self.wheels)
        self.makers = write_index(folder / "makers-index", [heavy, other])
        public = write_index(folder / "public-index", [alpha, plain])
        self.builds = Builds(folder / tool, tool, public, indexes=(self.makers,))


@pytest.fixture(params=TOOLS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    return Places(tmp_path, request.param)


def test_a_build_that_pips_index_lacks_comes_from_the_index_of_the_bundle(places: Places) -> None:
    builds = places.builds
    path = builds.build(places.lock, ["alpha", "heavy"])
    assert builds.store.verify(path) == [] and builds.left() == []
    assert list(path.glob("lib/*/site-packages/heavy-2.0+cpu.dist-info"))
    # Hashes decide: what both indexes have in one version is the file that the lock names.
    text = next(path.glob("lib/*/site-packages/alpha/__init__.py")).read_text()
    assert "the makers' own" not in text


def test_without_an_index_of_the_bundle_it_is_missing(places: Places) -> None:
    places.builds.indexes = ()
    with pytest.raises(BundleError, match=r"heavy==2\.0\+cpu is not to be had") as caught:
        places.builds.build(places.lock)
    assert places.makers not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("tool", TOOLS)
def test_an_index_may_forbid_what_it_does_not_have(tmp_path: Path, tool: str) -> None:
    """As PyTorch's does."""
    alpha = make_wheel(tmp_path / "public", "alpha")
    with WheelIndex(tmp_path / "makers") as makers:
        makers.says_missing = 403
        heavy = make_wheel(makers.folder, "heavy", "2.0+cpu")
        builds = Builds(tmp_path / tool, tool, indexes=(makers.url,))
        builds.index_url = write_index(tmp_path / "index", [alpha])
        path = builds.build(lock_of([alpha, heavy]), ["alpha", "heavy"])
    assert builds.store.verify(path) == []


@pytest.mark.parametrize("tool", TOOLS)
def test_it_is_not_asked_where_nothing_is_missing(tmp_path: Path, tool: str) -> None:
    wheel = make_wheel(tmp_path / "wheels", "alpha")
    with WheelIndex(tmp_path / "wheels") as makers:
        makers.goes_on.clear()  # whoever fetched from there would be noticed
        builds = Builds(tmp_path / tool, tool, indexes=(makers.url,))
        builds.index_url = write_index(tmp_path / "index", [wheel])
        builds.build(lock_of([wheel]), ["alpha"])
        assert makers.asked == []


@pytest.mark.parametrize("tool", TOOLS)
def test_it_is_not_asked_where_pips_index_is_down(tmp_path: Path, tool: str) -> None:
    wheel = make_wheel(tmp_path / "wheels", "alpha")
    with WheelIndex(tmp_path / "wheels") as makers:
        builds = Builds(tmp_path / tool, tool, closed_port_url(), indexes=(makers.url,))
        with pytest.raises(BundleError, match="does not answer"):
            builds.build(lock_of([wheel]))
        assert makers.asked == []


@pytest.mark.parametrize("tool", TOOLS)
def test_it_is_not_asked_with_a_folder_or_where_pip_is_told_to_use_no_index(
    tmp_path: Path, tool: str
) -> None:
    alpha, beta = make_wheel(tmp_path / "wheels", "alpha"), make_wheel(tmp_path / "wheels", "beta")
    with WheelIndex(tmp_path / "wheels") as makers:
        builds = Builds(tmp_path / tool, tool, indexes=(makers.url,))
        make_wheel(builds.wheels, "alpha")  # the folder that pip is to use alone
        with pytest.raises(BundleError, match=r"beta.* is not to be had") as caught:
            builds.build(lock_of([beta]))
        assert "no-index" in caught.value.hint

        stick = tmp_path / "stick"
        stick.mkdir()
        shutil.copy(alpha.path, stick)
        # By its name it is there; what is in it only the tool sees.
        shutil.copy(alpha.path, stick / beta.path.name)
        with pytest.raises(BundleError) as caught:
            builds.build(lock_of([alpha, beta]), from_folder=stick)
        assert makers.url not in caught.value.message + caught.value.hint
        assert makers.asked == []


def test_what_neither_has_is_said_with_both_places(places: Places, tmp_path: Path) -> None:
    builds = places.builds
    builds.indexes = (write_index(tmp_path / "third", [make_wheel(tmp_path / "x", "other")]),)
    with pytest.raises(BundleError, match=r"heavy==2\.0\+cpu is not to be had") as caught:
        builds.build(places.lock)
    assert builds.index_url in caught.value.message
    assert builds.indexes[0] in caught.value.message and builds.store.paths() == []


def test_an_index_of_a_bundle_that_is_down_is_said_with_what_is_missing(places: Places) -> None:
    builds = places.builds
    builds.indexes = (closed_port_url(),)
    with pytest.raises(BundleError, match=r"heavy==2\.0\+cpu is not to be had") as caught:
        builds.build(places.lock)
    assert builds.index_url in caught.value.message and "does not answer" in caught.value.message
    assert builds.indexes[0] in caught.value.message
    assert "--from FOLDER" in caught.value.hint and "pip config list" in caught.value.hint


def test_a_file_of_the_bundles_index_with_another_hash_is_not_installed(
    places: Places, tmp_path: Path
) -> None:
    forged = make_wheel(tmp_path / "forged", "heavy", "2.0+cpu", code="# forged")
    places.builds.indexes = (write_index(tmp_path / "forged-index", [forged]),)
    with pytest.raises(BundleError, match="is not the file that the lock names"):
        places.builds.build(places.lock)
    assert places.builds.store.paths() == []


def test_it_is_asked_for_what_is_packed_as_well(tmp_path: Path) -> None:
    places = Places(tmp_path, "pip")
    stick = tmp_path / "stick"
    process = places.builds.start(places.lock.text, stick, action="pack")
    told = end_of(process, PATIENCE_S)
    assert told[-1].phase is InstallPhase.DONE, told[-1]
    assert {path.name for path in stick.glob("*.whl")} == {
        package.path.name for package in places.wheels
    }
    other = Builds(tmp_path / "other", TOOLS[-1])
    path = other.build(places.lock, ["alpha", "heavy"], from_folder=stick)
    assert other.store.verify(path) == []
