"""What became of an attempt, from its files alone."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import pytest

from mosaic.contracts.run_files import AttemptFiles, ExitRecord
from mosaic.daemon.executors.attempt_fate import commitment_of, examine_attempt
from mosaic.daemon.executors.base import AttemptFate, AttemptKey, AttemptVerdict
from mosaic.files import atomic_write_json
from mosaic.processes import ProcessIdentity, boot_id

KEY = AttemptKey("01HZZZZZZZZZZZZZZZZZZZZZZZ", 1)
PROOF = "a word that only the run host knows"
RECORD = ExitRecord(KEY.run_id, KEY.attempt, 3, None, 1.0, 2.0, proof=PROOF)


@pytest.fixture
def files(tmp_path: Path) -> AttemptFiles:
    attempt = AttemptFiles(tmp_path / "1")
    attempt.directory.mkdir()
    return attempt


def examine(
    files: AttemptFiles, commitment: str = "", is_destroyed: bool = False
) -> AttemptVerdict:
    return examine_attempt(files, KEY, commitment, is_destroyed)


def claim(files: AttemptFiles, boot: str) -> None:
    files.claim.write_text(json.dumps({"pid": 1, "start_ticks": 1, "boot_id": boot}))


def hold(files: AttemptFiles) -> int:
    fd = os.open(files.lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def test_exit_json_with_the_right_proof_is_the_truth(files: AttemptFiles) -> None:
    atomic_write_json(files.exit, RECORD.to_dict())
    assert examine(files, commitment_of(PROOF)) == AttemptVerdict(AttemptFate.EXITED, RECORD)


def test_exit_json_of_an_attempt_from_before_there_were_proofs_is_believed(
    files: AttemptFiles,
) -> None:
    old = {name: value for name, value in RECORD.to_dict().items() if name != "proof"}
    atomic_write_json(files.exit, old)
    assert examine(files) == AttemptVerdict(AttemptFate.EXITED, RECORD._replace(proof=""))


@pytest.mark.parametrize("proof", ["", "a guess", commitment_of(PROOF), PROOF.upper()])
def test_without_the_right_proof_exit_json_is_set_aside_and_claim_and_lock_decide(
    files: AttemptFiles, proof: str
) -> None:
    claim(files, boot_id())
    atomic_write_json(files.exit, RECORD._replace(exit_code=0, proof=proof).to_dict())
    verdict = examine(files, commitment_of(PROOF))
    assert (verdict.fate, verdict.exit) == (AttemptFate.LOST, None)
    assert verdict.remark == (
        "Its exit.json was not written by its run host and is kept as exit.json.refused-1."
    )
    assert not files.exit.exists()
    assert (files.directory / "exit.json.refused-1").exists()


def test_exit_json_of_another_attempt_is_set_aside(files: AttemptFiles) -> None:
    claim(files, boot_id())
    atomic_write_json(files.exit, RECORD._replace(attempt=2).to_dict())
    verdict = examine(files)
    assert verdict.fate is AttemptFate.LOST
    assert "that of another attempt" in verdict.remark


def test_every_refused_file_is_kept(files: AttemptFiles) -> None:
    claim(files, boot_id())
    for _ in range(3):
        files.exit.write_text("no JSON")
        examine(files)
    kept = sorted(path.name for path in files.directory.glob("exit.json*"))
    assert kept == [f"exit.json.refused-{number}" for number in (1, 2, 3)]


def test_a_held_lock_means_alive_whatever_exit_json_says(files: AttemptFiles) -> None:
    atomic_write_json(files.exit, RECORD.to_dict())
    fd = hold(files)
    try:
        assert examine(files, commitment_of(PROOF)).fate is AttemptFate.ALIVE
        assert examine(files).fate is AttemptFate.ALIVE
        assert [path.name for path in files.directory.iterdir()].count("claim") == 0
    finally:
        os.close(fd)
    assert examine(files, commitment_of(PROOF)).fate is AttemptFate.EXITED


def test_a_lock_that_a_stranger_holds_keeps_no_attempt_alive_that_was_destroyed(
    files: AttemptFiles,
) -> None:
    claim(files, boot_id())
    fd = hold(files)
    try:
        assert examine(files, is_destroyed=True).fate is AttemptFate.LOST
    finally:
        os.close(fd)


def test_without_a_claim_it_never_started_and_now_never_can(files: AttemptFiles) -> None:
    assert examine(files).fate is AttemptFate.NEVER_STARTED
    with pytest.raises(FileExistsError):
        os.open(files.claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY)


def test_what_recovery_has_refused_never_started_for_the_next_daemon_either(
    files: AttemptFiles,
) -> None:
    assert examine(files).fate is AttemptFate.NEVER_STARTED
    assert examine(files).fate is AttemptFate.NEVER_STARTED
    assert [path.name for path in files.directory.iterdir()] == ["claim"]


@pytest.mark.parametrize("trace", ["live.json", "live.json.refused-1", "exit.json"])
def test_an_attempt_that_left_traces_is_not_started_again_for_a_missing_claim(
    files: AttemptFiles, trace: str
) -> None:
    (files.directory / trace).write_text("{}")
    assert examine(files).fate is AttemptFate.LOST
    assert examine(files).fate is not AttemptFate.ALIVE


def test_the_claim_of_recovery_cannot_be_taken_for_a_run_host(files: AttemptFiles) -> None:
    examine(files)
    with pytest.raises(KeyError):
        ProcessIdentity.from_dict(json.loads(files.claim.read_bytes()))


def test_an_attempt_without_even_a_folder_never_started(tmp_path: Path) -> None:
    assert examine(AttemptFiles(tmp_path / "7")).fate is AttemptFate.NEVER_STARTED


def test_claimed_but_gone_is_lost(files: AttemptFiles) -> None:
    claim(files, boot_id())
    assert examine(files) == AttemptVerdict(AttemptFate.LOST)


def test_claimed_before_a_reboot_is_interrupted(files: AttemptFiles) -> None:
    claim(files, "an-earlier-boot")
    assert examine(files).fate is AttemptFate.INTERRUPTED


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"pid": "1"}', "\0" * 100])
def test_a_claim_that_says_nothing_is_lost_not_a_crash(files: AttemptFiles, text: str) -> None:
    files.claim.write_text(text)
    verdict = examine(files)
    assert verdict.fate is AttemptFate.LOST
    assert verdict.remark.startswith("Its claim cannot be used (claim: ")
