"""The store of venvs: what it says of them, and how they go."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mosaic.bundles.locks import Lock, LockedPackage, make_lock
from mosaic.bundles.venv_store import (
    FOUND_BROKEN,
    LOCK_TEXT,
    MARKER,
    VenvStore,
    broken_problem,
    build_folder,
    log_of,
    python_of,
    try_lock,
    unlock,
)
from mosaic.contracts.bundles import Accelerator, VenvState
from mosaic.errors import BundleError
from mosaic.paths import Home
from tests.support.made_venvs import make_venv, site_of


@pytest.fixture
def store(tmp_path: Path) -> VenvStore:
    store = VenvStore(Home(tmp_path))
    store.folder.mkdir(parents=True)
    return store


def a_lock(bundle: str = "learner", accelerator: Accelerator = Accelerator.CPU) -> Lock:
    package = LockedPackage("alpha", "1.0", ("sha256:" + "a" * 64,), 5000)
    return make_lock(bundle, "3.11", accelerator, [package])


def made(store: VenvStore, bundle: str = "learner") -> Path:
    return make_venv(store.path_of(a_lock(bundle), "3.11.7"), a_lock(bundle))


def never(path: Path) -> bool:
    return False


def test_the_path_tells_bundle_lock_interpreter_and_accelerator(store: VenvStore) -> None:
    path = store.path_of(a_lock("learner+pictures"), "3.11.7")
    name, _, digits = path.name.rpartition("-")
    assert name == "learner+pictures" and len(digits) == 12
    others = [
        store.path_of(a_lock("learner+pictures"), "3.11.8"),
        store.path_of(a_lock("learner+pictures", Accelerator.CUDA), "3.11.7"),
        store.path_of(make_lock("learner+pictures", "3.11", Accelerator.CPU, []), "3.11.7"),
    ]
    assert len({path, *others}) == 4
    assert path == store.path_of(a_lock("learner+pictures"), "3.11.7")


def test_a_store_without_a_folder_is_empty(tmp_path: Path) -> None:
    store = VenvStore(Home(tmp_path / "new"))
    assert (store.paths(), store.infos(), store.sweep(), store.prune(never)) == ([], [], [], [])
    assert store.state(store.path_of(a_lock(), "3.11.7")) is VenvState.ABSENT
    assert not (tmp_path / "new").exists()


def test_a_whole_venv_is_installed_and_says_what_it_is(store: VenvStore) -> None:
    path = made(store)
    [info] = store.infos()
    assert info == store.info(path)
    assert (info.name, info.state, info.path) == ("learner", VenvState.INSTALLED, str(path))
    assert (info.python, info.lock_hash) == ("3.11.7", a_lock().hash)
    assert (info.fetch_bytes, info.disk_bytes, info.installed_at) == (5000, 4096, 1000.0)
    assert info.used_at is None and info.problem == info.hint == ""
    assert store.verify(path) == [] and store.lock_text(path) == a_lock().text


def test_what_makes_a_venv_broken_is_said(store: VenvStore) -> None:
    path = made(store)
    marker = (path / MARKER).read_text()

    def problem() -> str:
        assert store.state(path) is VenvState.BROKEN and store.marker(path) is None
        [info] = store.infos()
        assert info.state is VenvState.BROKEN and info.name == "learner"
        assert "`mosaic bundles install learner` makes it again" in info.hint
        assert info.problem == broken_problem(path)
        return info.problem

    for text in ("", "{", "[]", "{}", marker.replace('"cpu"', '"abacus"')):
        (path / MARKER).write_text(text)
        assert "cannot be read" in problem()
    (path / MARKER).unlink()
    assert "never whole" in problem()
    (path / MARKER).write_text(marker)
    python_of(path).unlink()
    python_of(path).symlink_to("/nowhere/python")
    assert "the Python it was made from" in problem()


def test_what_a_verification_finds_stays_found_until_another_finds_nothing(
    store: VenvStore,
) -> None:
    path = made(store)
    module = site_of(path) / "alpha" / "__init__.py"
    text = module.read_text()
    module.write_text("changed")
    [problem] = store.verify(path)
    assert "was changed" in problem
    assert store.state(path) is VenvState.BROKEN and problem in store.info(path).problem
    module.write_text(text)
    assert store.state(path) is VenvState.BROKEN
    assert store.verify(path) == [] and store.state(path) is VenvState.INSTALLED
    (path / FOUND_BROKEN).write_text("{")
    assert store.state(path) is VenvState.BROKEN


def test_a_verification_sees_a_lock_that_is_not_its_own_and_packages_that_are_gone(
    store: VenvStore,
) -> None:
    path = made(store)
    other = make_lock("learner", "3.11", Accelerator.CPU, [])
    (path / LOCK_TEXT).write_text(other.text)
    assert store.verify(path) == [f"{LOCK_TEXT} is not the lock it was made from"]
    (path / LOCK_TEXT).write_text(a_lock().text.replace("aaaa", "bbbb"))
    assert "changed by hand" in store.verify(path)[0]
    (path / LOCK_TEXT).write_text(a_lock().text)
    (site_of(path) / "alpha-1.0.dist-info").rename(site_of(path) / "alpha-1.1.dist-info")
    assert "alpha 1.0 is not in it" in store.verify(path)
    assert store.verify(store.folder / "absent-0") == ["absent-0 is not installed"]


def test_a_venv_that_is_built_is_installing(store: VenvStore) -> None:
    path = store.path_of(a_lock(), "3.11.7")
    fd = try_lock(path)
    assert fd is not None and try_lock(path) is None
    assert store.state(path) is VenvState.INSTALLING
    unlock(path, fd)
    assert store.state(path) is VenvState.ABSENT and list(store.folder.iterdir()) == []


def test_a_venv_that_a_run_uses_is_not_removed(store: VenvStore) -> None:
    path = made(store)
    with pytest.raises(BundleError, match="in use by a run"):
        store.remove(path, lambda asked: asked == path)
    assert store.state(path) is VenvState.INSTALLED
    store.remove(path, never)
    assert list(store.folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_into_is_said_and_swept_around(store: VenvStore) -> None:
    path = made(store)
    # As refused as by a folder without the right to write; that root has anyway.
    path.with_name(f"{path.name}.lock").mkdir()
    with pytest.raises(
        BundleError, match=r"learner cannot be removed: .*: Is a directory"
    ) as caught:
        store.remove(path, never)
    assert str(store.folder) in caught.value.hint
    assert store.prune(never) == [] and store.sweep() == []
    assert store.state(path) is VenvState.INSTALLED


def test_only_a_venv_of_this_home_is_removed_and_not_while_it_is_built(
    store: VenvStore, tmp_path: Path
) -> None:
    outside = make_venv(tmp_path / "learner-0", a_lock())
    for path in (outside, store.folder / "absent-0", store.folder / ".." / "venvs", store.folder):
        with pytest.raises(BundleError, match="There is no venv"):
            store.remove(path, never)
    path = made(store)
    fd = try_lock(path)
    assert fd is not None
    with pytest.raises(BundleError, match="is being installed"):
        store.remove(path, never)
    unlock(path, fd)
    assert outside.is_dir() and store.state(path) is VenvState.INSTALLED


def test_pruning_keeps_what_is_wanted_or_used(store: VenvStore) -> None:
    wanted, used, other = (made(store, name) for name in ("wanted", "used", "other"))
    (store.folder / "torn-0").mkdir()

    def keep(path: Path) -> bool:
        return path == wanted

    def is_used(path: Path) -> bool:
        return path == used

    would = [info.name for info in store.prune(keep, is_used, dry_run=True)]
    assert would == ["other", "torn"] and other.is_dir()
    assert [info.name for info in store.prune(keep, is_used)] == would
    assert store.paths() == [used, wanted]


def test_a_sweep_removes_what_interrupted_builds_left_and_nothing_that_is_held(
    store: VenvStore,
) -> None:
    path = made(store)
    under_way = store.folder / "busy-000000000000"
    abandoned = store.folder / "left-000000000000"
    for target in (under_way, abandoned):
        build_folder(target).mkdir()
        log_of(target).touch()
    (store.folder / "left-000000000000.lock").touch()
    (store.folder / ".trash-gone-1").mkdir()
    old = store.folder / "old-000000000000.log"
    old.touch()
    os.utime(old, (time.time() - 30 * 86_400,) * 2)
    fd = try_lock(under_way)
    assert fd is not None
    store.sweep()
    names = {item.name for item in store.folder.iterdir()}
    unlock(under_way, fd)
    assert names == {
        path.name,
        *(build_folder(under_way).name, log_of(under_way).name, f"{under_way.name}.lock"),
        log_of(abandoned).name,  # of a build that failed, perhaps: somebody may want to read it
    }


def test_use_is_noted(store: VenvStore) -> None:
    path = made(store)
    store.mark_used(path)
    used_at = store.info(path).used_at
    assert used_at is not None and abs(used_at - time.time()) < 60
    store.mark_used(store.folder / "absent-0")


def test_bytes_in_files_that_two_venvs_have_are_shared(store: VenvStore) -> None:
    first, second, third = (made(store, name) for name in ("first", "second", "third"))
    big = site_of(first) / "big.so"
    big.write_bytes(b"x" * 50_000)
    os.link(big, site_of(second) / "big.so")
    # Links within one venv, or to a cache, are nobody else's.
    (site_of(third) / "own.so").write_bytes(b"x" * 50_000)
    os.link(site_of(third) / "own.so", site_of(third) / "own.so.1")
    expected = big.stat().st_blocks * 512
    shared = {info.name: info.shared_bytes for info in store.infos()}
    assert shared == {"first": expected, "second": expected, "third": 0}
    store.remove(second, never)
    assert store.info(first).shared_bytes == 0
