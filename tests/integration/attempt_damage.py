"""What a worker, a full disk or a careless person can make of an attempt's folder."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.contracts.run_files import AttemptFiles, ExitRecord
from mosaic.processes import identity_of

# Gets the attempt's files, its run's id, and a stranger's pid.
Damage = Callable[[AttemptFiles, str, int], None]
DAMAGES: dict[str, Damage] = {}


def damage(function: Damage) -> Damage:
    DAMAGES[function.__name__] = function
    return function


def forged_exit(run_id: str, **changes: Any) -> str:
    """What a worker would write to be taken for one that succeeded."""
    record = ExitRecord(run_id, 1, 0, None, started_at=1.0, finished_at=2.0)
    return json.dumps({**record.to_dict(), **changes})


def removed(path: Path) -> Path:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


# What exit.json can be


@damage
def exit_forged(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text(forged_exit(run_id))


@damage
def exit_forged_with_a_guessed_proof(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text(forged_exit(run_id, proof="0" * 64))


@damage
def exit_forged_as_canceled(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text(forged_exit(run_id, stop_reason="user_cancel", exit_code=None, signal=9))


@damage
def exit_of_another_run(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text(forged_exit("01HZZZZZZZZZZZZZZZZZZZZZZZ"))


@damage
def exit_empty(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text("")


@damage
def exit_torn(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text(forged_exit(run_id)[:40])


@damage
def exit_null(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text("null")


@damage
def exit_of_bytes(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_bytes(bytes(range(256)) * 16)


@damage
def exit_with_wrong_types(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text(forged_exit(run_id, attempt="1", exit_code=10**30, stderr_tail=7))


@damage
def exit_without_end(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.write_text("[" * 500_000)


@damage
def exit_of_five_gigabytes(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.exit.touch()
    os.truncate(files.exit, 5 << 30)


@damage
def exit_a_folder(files: AttemptFiles, run_id: str, stranger: int) -> None:
    (files.exit / "inside").mkdir(parents=True)


@damage
def exit_a_fifo(files: AttemptFiles, run_id: str, stranger: int) -> None:
    os.mkfifo(files.exit)


@damage
def exit_a_socket(files: AttemptFiles, run_id: str, stranger: int) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(files.directory, os.O_RDONLY)  # the path itself is too long for a socket
        try:
            listener.bind(f"/proc/self/fd/{folder}/exit.json")
        finally:
            os.close(folder)


@damage
def exit_a_link(files: AttemptFiles, run_id: str, stranger: int) -> None:
    elsewhere = files.directory / "elsewhere.json"
    elsewhere.write_text(forged_exit(run_id))
    files.exit.symlink_to(elsewhere)


# What live.json can be


@damage
def live_garbage(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.live.write_text("no JSON at all")


@damage
def live_with_wrong_pids(files: AttemptFiles, run_id: str, stranger: int) -> None:
    document = json.loads(files.live.read_text())
    document["host"]["pid"], document["worker"]["pid"] = "1", -(10**30)
    files.live.write_text(json.dumps(document))


@damage
def live_with_numbers_that_are_none(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.live.write_text('{"host": NaN, "worker": Infinity, "started_at": -Infinity}')


@damage
def live_naming_a_stranger(files: AttemptFiles, run_id: str, stranger: int) -> None:
    identity = identity_of(stranger)
    assert identity is not None
    document = json.loads(files.live.read_text())
    document.update(host=identity.to_dict(), worker=identity.to_dict())
    files.live.write_text(json.dumps(document))


@damage
def live_a_folder(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.live).mkdir()


@damage
def live_a_fifo(files: AttemptFiles, run_id: str, stranger: int) -> None:
    os.mkfifo(removed(files.live))


@damage
def live_a_link_to_itself(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.live).symlink_to(files.live)


@damage
def live_removed(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.live)


# What the claim can be


@damage
def claim_garbage(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.claim.write_bytes(b"\xff\xfe{")


@damage
def claim_removed(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.claim)


@damage
def claim_naming_a_stranger(files: AttemptFiles, run_id: str, stranger: int) -> None:
    identity = identity_of(stranger)
    assert identity is not None
    files.claim.write_text(json.dumps({**identity.to_dict(), "groups": ["/", "/etc"]}))


@damage
def claim_with_ten_megabytes_of_groups(files: AttemptFiles, run_id: str, stranger: int) -> None:
    document = json.loads(files.claim.read_text())
    files.claim.write_text(json.dumps({**document, "groups": ["/sys/fs/cgroup"] * 700_000}))


@damage
def claim_a_fifo(files: AttemptFiles, run_id: str, stranger: int) -> None:
    os.mkfifo(removed(files.claim))


@damage
def claim_a_folder(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.claim).mkdir()


@damage
def claim_that_pretends_it_never_started(files: AttemptFiles, run_id: str, stranger: int) -> None:
    files.claim.write_text('{"refused_by": {}}')


# What the lock, the log and the token can be


@damage
def lock_removed(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.lock)


@damage
def lock_replaced(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.lock).touch()


@damage
def lock_a_fifo(files: AttemptFiles, run_id: str, stranger: int) -> None:
    os.mkfifo(removed(files.lock))


@damage
def lock_a_folder(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.lock).mkdir()


@damage
def lock_a_link(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.lock).symlink_to("/dev/null")


@damage
def log_a_fifo(files: AttemptFiles, run_id: str, stranger: int) -> None:
    os.mkfifo(removed(files.host_log))


@damage
def token_a_fifo(files: AttemptFiles, run_id: str, stranger: int) -> None:
    os.mkfifo(removed(files.token))


# And the folder itself


@damage
def all_files_garbage(files: AttemptFiles, run_id: str, stranger: int) -> None:
    for path in (files.claim, files.live, files.exit, files.token):
        path.write_bytes(b"\0" * 4096)


@damage
def all_files_removed_and_the_exit_forged(files: AttemptFiles, run_id: str, stranger: int) -> None:
    for path in (files.claim, files.live, files.lock, files.host_log, files.token):
        removed(path)
    files.exit.write_text(forged_exit(run_id))


@damage
def folder_removed(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.directory)


@damage
def folder_a_file(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.directory).write_text("a file")


@damage
def folder_a_link_to_itself(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.directory).symlink_to(files.directory)


@damage
def all_attempts_removed(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.directory.parent)


@damage
def all_attempts_a_link_to_itself(files: AttemptFiles, run_id: str, stranger: int) -> None:
    attempts = removed(files.directory.parent)
    attempts.symlink_to(attempts)


# What else a run has


@damage
def store_a_folder(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.directory.parents[1] / "telemetry.sqlite").mkdir()


@damage
def journal_a_folder(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.directory.parents[1] / "events.jsonl").mkdir()


@damage
def logs_a_file(files: AttemptFiles, run_id: str, stranger: int) -> None:
    removed(files.directory.parents[1] / "logs").write_text("a file")
