"""Venvs built for real by pip and, where it is there, by uv: whole, or absent with a reason."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.bundles.locks import read_lock
from mosaic.bundles.venv_store import FOUND_BROKEN, LOCK_TEXT, python_of
from mosaic.contracts.bundles import InstallPhase, VenvState
from mosaic.errors import BundleError
from tests.support.bundle_builds import TOOLS, VERSION, Builds, lock_of, phases
from tests.support.tiny_wheels import lock_text, make_wheel
from tests.support.wheel_index import WheelIndex, closed_port_url


@pytest.fixture(params=TOOLS)
def builds(request: pytest.FixtureRequest, tmp_path: Path) -> Builds:
    return Builds(tmp_path, request.param)


def test_a_built_venv_is_whole_marked_and_works_at_its_place(builds: Builds) -> None:
    wheels = [
        make_wheel(builds.wheels, "alpha", command="alpha-shows", ballast=300_000),
        make_wheel(builds.wheels, "beta", files=3),
    ]
    lock = lock_of(wheels)
    path = builds.build(lock, ["alpha", "beta.shown"])

    assert path == builds.target(lock) and builds.left() == []
    assert builds.store.state(path) is VenvState.INSTALLED
    assert builds.store.verify(path) == []
    marker = builds.store.marker(path)
    assert marker is not None
    assert (marker.name, marker.python, marker.lock_hash) == ("learner", VERSION, lock.hash)
    assert marker.disk_bytes >= 300_000
    assert (path / LOCK_TEXT).read_text() == lock.text
    # Its scripts name the place it was renamed to, not the one where it was built.
    shown = subprocess.run([path / "bin" / "alpha-shows"], capture_output=True, text=True)
    assert shown.stdout.strip() == str(path)
    assert list(path.rglob("shown.*.pyc")), "the import test compiles what it imports"

    expected = [
        *(InstallPhase.FETCHING, InstallPhase.BUILDING, InstallPhase.TESTING, InstallPhase.DONE)
    ]
    assert phases(builds.told) == expected
    fractions = [progress.fraction for progress in builds.told]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert builds.told[-1].done_bytes == builds.told[-1].total_bytes == lock.fetch_bytes

    # A second time nothing is built.
    before = path.stat().st_ino
    builds.told.clear()
    assert builds.build(lock) == path and path.stat().st_ino == before
    assert phases(builds.told) == [InstallPhase.DONE]


def test_a_file_with_another_hash_is_not_installed(builds: Builds) -> None:
    wheel = make_wheel(builds.wheels, "alpha")
    lock = read_lock(lock_text([wheel], hashes={"alpha": "0" * 64}), "a lock")
    with pytest.raises(BundleError, match=r"alpha==1\.0 .* is not the file that the lock names"):
        builds.build(lock)
    log = builds.target(lock).with_name(builds.target(lock).name + ".log")
    assert builds.left() == [log.name] and builds.store.paths() == []
    assert wheel.sha256 in log.read_text()


def test_an_index_that_is_down_is_named_with_the_ways_out(builds: Builds) -> None:
    builds.index_url = closed_port_url()
    wheel = make_wheel(builds.wheels, "alpha")
    with pytest.raises(BundleError, match="does not answer") as caught:
        builds.build(lock_of([wheel]))
    assert builds.index_url in caught.value.message
    assert "pip config list" in caught.value.hint
    assert "mosaic bundles install learner --from FOLDER" in caught.value.hint
    assert builds.store.paths() == []


def test_a_package_that_the_index_lacks_is_named(builds: Builds) -> None:
    wheel = make_wheel(builds.wheels, "alpha")
    lock = read_lock(lock_text([wheel], versions={"alpha": "1.7"}), "a lock")
    with pytest.raises(BundleError, match=r"alpha==1\.7 is not to be had"):
        builds.build(lock)


def test_a_build_with_a_local_version_is_taken_for_the_version_if_the_lock_has_its_hash(
    builds: Builds,
) -> None:
    wheel = make_wheel(builds.wheels, "heavy", "2.0+cpu")
    lock = read_lock(lock_text([wheel], versions={"heavy": "2.0"}), "a lock")
    path = builds.build(lock, ["heavy"])
    assert builds.store.verify(path) == []
    assert list(path.glob("lib/*/site-packages/heavy-2.0+cpu.dist-info"))


def test_a_build_with_a_local_version_that_the_lock_does_not_have_is_passed_over(
    builds: Builds,
) -> None:
    plain = make_wheel(builds.wheels, "heavy", "2.0")
    make_wheel(builds.wheels, "heavy", "2.0+cpu")
    path = builds.build(lock_of([plain]), ["heavy"])
    assert list(path.glob("lib/*/site-packages/heavy-2.0.dist-info"))


def test_of_two_files_of_one_version_the_one_is_taken_that_the_lock_names(
    builds: Builds, tmp_path: Path
) -> None:
    """Two indexes may each have their own build of the same version."""
    make_wheel(builds.wheels, "alpha", code="# the other")
    named = make_wheel(tmp_path / "more", "alpha")
    beta = make_wheel(builds.wheels, "beta")
    with WheelIndex(builds.wheels) as first, WheelIndex(tmp_path / "more") as second:
        builds.index_url = first.url
        builds.more_variables = {"PIP_EXTRA_INDEX_URL": second.url}
        path = builds.build(lock_of([named, beta]), ["alpha", "beta"])
    assert builds.store.verify(path) == [] and builds.left() == []
    text = next(path.glob("lib/*/site-packages/alpha/__init__.py")).read_text()
    assert "the other" not in text


def test_a_venv_whose_imports_fail_is_not_kept(builds: Builds) -> None:
    wheel = make_wheel(builds.wheels, "alpha", code="raise OSError('libmissing.so.7: gone')")
    with pytest.raises(BundleError, match=r"alpha cannot be imported .*libmissing\.so\.7: gone"):
        builds.build(lock_of([wheel]), ["alpha"])
    assert builds.store.paths() == []


def test_what_is_fetched_and_how_much_has_come_is_told_while_it_comes(builds: Builds) -> None:
    wheel = make_wheel(builds.wheels, "alpha", ballast=4_000_000)
    lock = lock_of([wheel])
    with WheelIndex(builds.wheels) as index:
        builds.index_url = index.url
        index.goes_on.clear()

        class Following(list):  # type: ignore[type-arg]
            def append(self, progress: object) -> None:
                super().append(progress)
                if index.has_sent_half.is_set() and builds.told[-1].done_bytes:
                    index.goes_on.set()

        builds.told = Following()
        builds.build(lock)
    fetching = [item for item in builds.told if item.phase is InstallPhase.FETCHING]
    assert "alpha" in {item.item for item in fetching}
    partly = {item.done_bytes for item in fetching} - {0, lock.fetch_bytes}
    assert partly and max(partly) < lock.fetch_bytes
    for before, after in itertools.pairwise(builds.told):
        assert after.done_bytes >= before.done_bytes and after.fraction >= before.fraction


def test_an_interpreter_that_is_gone_is_named(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    lock = lock_of([make_wheel(builds.wheels, "alpha")])
    gone = tmp_path / "gone" / "python"
    with pytest.raises(BundleError, match="cannot be used") as caught:
        builds.build(lock, interpreter=gone)
    assert str(gone) in caught.value.message and builds.store.paths() == []


def test_an_interpreter_of_another_version_is_refused(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    wheel = make_wheel(builds.wheels, "alpha")
    lock = read_lock(lock_text([wheel], python="3.99"), "a lock")
    with pytest.raises(BundleError, match=r"is for Python 3\.99, and .* is Python 3\."):
        builds.build(lock)


def test_a_broken_venv_is_built_anew(builds: Builds) -> None:
    lock = lock_of([make_wheel(builds.wheels, "alpha")])
    path = builds.build(lock)
    module = next(path.glob("lib/*/site-packages/alpha/__init__.py"))
    module.write_text("VERSION = 'changed'\n")  # with uv it is the cache's as well
    assert any("alpha/__init__.py was changed" in line for line in builds.store.verify(path))
    assert (path / FOUND_BROKEN).exists()
    assert builds.store.state(path) is VenvState.BROKEN

    assert builds.build(lock, ["alpha"]) == path and builds.store.verify(path) == []
    assert not (path / FOUND_BROKEN).exists() and builds.left() == []


def test_whatever_lies_in_the_place_of_a_venv_is_put_away(tmp_path: Path) -> None:
    builds = Builds(tmp_path, TOOLS[-1])
    lock = lock_of([make_wheel(builds.wheels, "alpha")])
    path, elsewhere = builds.target(lock), tmp_path / "elsewhere"
    elsewhere.mkdir()
    path.parent.mkdir(parents=True)
    for target in (elsewhere, tmp_path / "nowhere", None):
        if target is None:
            path.touch()
        else:
            path.symlink_to(target)
        assert builds.build(lock) == path and not path.is_symlink()
        assert builds.store.state(path) is VenvState.INSTALLED
        assert builds.left() == [] and elsewhere.is_dir()
        builds.store.remove(path, lambda path: False)


@pytest.mark.skipif("uv" not in TOOLS, reason="only uv links files of venvs to each other")
def test_venvs_that_share_files_say_how_much(tmp_path: Path) -> None:
    builds = Builds(tmp_path, "uv")
    shared = make_wheel(builds.wheels, "alpha", ballast=500_000)
    first = builds.build(lock_of([shared, make_wheel(builds.wheels, "beta", ballast=90_000)]))
    assert builds.store.info(first).shared_bytes == 0
    second = builds.build(lock_of([shared, make_wheel(builds.wheels, "gamma")], "other"))
    for info in (builds.store.info(first), builds.store.info(second)):
        assert 500_000 <= info.shared_bytes < info.disk_bytes
    builds.store.remove(second, lambda path: False)
    assert builds.store.info(first).shared_bytes == 0


def test_the_python_of_a_venv_is_not_that_of_mosaic(tmp_path: Path) -> None:
    builds = Builds(tmp_path, TOOLS[-1])
    path = builds.build(lock_of([make_wheel(builds.wheels, "alpha")]))
    script = "import sys, importlib.util as u; print(sys.prefix, u.find_spec('pytest'))"
    shown = subprocess.run([python_of(path), "-c", script], capture_output=True, text=True)
    assert shown.stdout.split() == [str(path), "None"] and sys.prefix != str(path)
