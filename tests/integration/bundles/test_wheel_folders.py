"""Folders of wheels that are not what a lock needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.errors import BundleError
from tests.support.bundle_builds import TOOLS, Builds, lock_of
from tests.support.tiny_wheels import make_wheel


@pytest.mark.parametrize("tool", TOOLS)
def test_a_wheel_that_was_damaged_on_its_way_is_found(tmp_path: Path, tool: str) -> None:
    builds = Builds(tmp_path, tool)
    wheel = make_wheel(tmp_path / "stick", "alpha")
    lock = lock_of([wheel])
    make_wheel(tmp_path / "stick", "alpha", code="# not what was packed")
    with pytest.raises(BundleError, match="is not the file that the lock names") as caught:
        builds.build(lock, from_folder=tmp_path / "stick")
    assert "pack the folder again" in caught.value.hint and builds.store.paths() == []


def test_wheels_that_a_folder_lacks_are_named_before_anything_is_done(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    names = ("alpha", "beta", "gamma", "delta", "epsilon")
    lock = lock_of([make_wheel(tmp_path / "stick", name) for name in names])
    for name in names[1:]:
        (tmp_path / "stick" / f"{name}-1.0-py3-none-any.whl").unlink()
    with pytest.raises(BundleError) as caught:
        builds.build(lock, from_folder=tmp_path / "stick")
    assert "has no wheel of beta 1.0, gamma 1.0, delta 1.0 and 1 more" in caught.value.message
    assert "mosaic bundles pack learner --to FOLDER" in caught.value.hint


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    builds = Builds(tmp_path)
    lock = lock_of([make_wheel(builds.wheels, "alpha")])
    with pytest.raises(BundleError, match="nowhere cannot be read"):
        builds.build(lock, from_folder=tmp_path / "nowhere")
