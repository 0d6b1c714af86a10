from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.run_files import RunFiles
from mosaic.daemon.bundles.kept_locks import (
    Agreement,
    keep_agreement,
    keep_locks,
    kept_agreement,
    kept_locks,
    revoke_agreement,
)
from tests.support.bundle_builds import lock_of
from tests.support.tiny_wheels import make_wheel


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    (tmp_path / "run").mkdir()
    return RunFiles(tmp_path / "run")


def test_a_run_keeps_the_locks_it_first_ran_by(files: RunFiles, tmp_path: Path) -> None:
    old = lock_of([make_wheel(tmp_path, "alpha")])
    new = lock_of([make_wheel(tmp_path, "alpha", "2.0")])
    program = lock_of([make_wheel(tmp_path, "beta")], "old_scripts")
    keep_locks(files, [old])
    keep_locks(files, [new, program])
    assert kept_locks(files) == {"learner": old, "old_scripts": program}
    assert files.bundle_lock.read_text() == old.text


def test_a_run_that_needed_nothing_keeps_nothing(files: RunFiles) -> None:
    keep_locks(files, [])
    assert kept_locks(files) == {} and not files.bundle_lock.exists()


def test_a_lock_that_was_changed_counts_for_nothing(files: RunFiles, tmp_path: Path) -> None:
    lock = lock_of([make_wheel(tmp_path, "alpha")])
    files.bundle_lock.write_text(lock.text.replace("alpha==1.0", "other==6.6"))
    assert kept_locks(files) == {}
    files.bundle_lock.write_bytes(b"\xff\xfe")
    assert kept_locks(files) == {}


def test_an_agreement_lasts_until_it_is_taken_back(files: RunFiles) -> None:
    assert kept_agreement(files) is None
    keep_agreement(files, Agreement(5_000))
    assert kept_agreement(files) == Agreement(5_000)
    revoke_agreement(files)
    revoke_agreement(files)
    assert kept_agreement(files) is None


@pytest.mark.parametrize("text", ["", "[]", '{"most_bytes": "all"}', "nonsense"])
def test_a_damaged_agreement_allows_nothing(files: RunFiles, text: str) -> None:
    files.install_agreement.write_text(text)
    assert kept_agreement(files) is None
