"""What became of an attempt, from its files alone."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import pytest

from mosaic.contracts.run_files import AttemptFiles, ExitRecord
from mosaic.daemon.executors.attempt_fate import examine_attempt
from mosaic.daemon.executors.base import AttemptFate
from mosaic.files import atomic_write_json
from mosaic.processes import ProcessIdentity, boot_id


@pytest.fixture
def files(tmp_path: Path) -> AttemptFiles:
    attempt = AttemptFiles(tmp_path / "1")
    attempt.directory.mkdir()
    return attempt


def claim(files: AttemptFiles, boot: str) -> None:
    files.claim.write_text(json.dumps({"pid": 1, "start_ticks": 1, "boot_id": boot}))


def test_exit_json_is_the_truth(files: AttemptFiles) -> None:
    record = ExitRecord("R", 1, 3, None, 1.0, 2.0)
    atomic_write_json(files.exit, record.to_dict())
    verdict = examine_attempt(files)
    assert verdict.fate is AttemptFate.EXITED
    assert verdict.exit == record


def test_a_held_lock_means_alive(files: AttemptFiles) -> None:
    fd = os.open(files.lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        assert examine_attempt(files).fate is AttemptFate.ALIVE
        assert not files.claim.exists()
    finally:
        os.close(fd)


def test_without_a_claim_it_never_started_and_now_never_can(files: AttemptFiles) -> None:
    assert examine_attempt(files).fate is AttemptFate.NEVER_STARTED
    with pytest.raises(FileExistsError):
        os.open(files.claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY)


def test_what_recovery_has_refused_never_started_for_the_next_daemon_either(
    files: AttemptFiles,
) -> None:
    assert examine_attempt(files).fate is AttemptFate.NEVER_STARTED
    assert examine_attempt(files).fate is AttemptFate.NEVER_STARTED
    assert [path.name for path in files.directory.iterdir()] == ["claim"]


def test_the_claim_of_recovery_cannot_be_taken_for_a_run_host(files: AttemptFiles) -> None:
    examine_attempt(files)
    with pytest.raises(KeyError):
        ProcessIdentity.from_dict(json.loads(files.claim.read_bytes()))


def test_an_attempt_without_even_a_folder_never_started(tmp_path: Path) -> None:
    assert examine_attempt(AttemptFiles(tmp_path / "7")).fate is AttemptFate.NEVER_STARTED


def test_claimed_but_gone_is_lost(files: AttemptFiles) -> None:
    claim(files, boot_id())
    assert examine_attempt(files).fate is AttemptFate.LOST


def test_claimed_before_a_reboot_is_interrupted(files: AttemptFiles) -> None:
    claim(files, "an-earlier-boot")
    assert examine_attempt(files).fate is AttemptFate.INTERRUPTED


def test_a_claim_that_was_never_written_through_is_lost_not_a_crash(files: AttemptFiles) -> None:
    files.claim.write_bytes(b"")
    assert examine_attempt(files).fate is AttemptFate.LOST
