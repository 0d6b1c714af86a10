"""Decides from an attempt's files what became of it. Safe against a run host that is just starting.

The run host takes the lock, then the claim, then starts the worker, and writes exit.json last.
So: exit.json is the truth if it is there; a held lock means alive; and whoever creates the claim
decides whether the worker may ever start.
"""

from __future__ import annotations

import fcntl
import json
import os

from mosaic.contracts.run_files import AttemptFiles, ExitRecord
from mosaic.daemon.executors.base import AttemptFate, Verdict
from mosaic.files import read_json
from mosaic.processes import boot_id, identity_of


def examine_attempt(files: AttemptFiles) -> Verdict:
    verdict = _visible_fate(files)
    if verdict is not None:
        return verdict
    if _take_claim(files):
        return Verdict(AttemptFate.NEVER_STARTED)
    # Somebody has the claim. It may have come alive, or ended, between our looks.
    verdict = _visible_fate(files)
    if verdict is not None:
        return verdict
    if _claim_boot_id(files) != boot_id():
        return Verdict(AttemptFate.INTERRUPTED)
    return Verdict(AttemptFate.LOST)


def _visible_fate(files: AttemptFiles) -> Verdict | None:
    if record := read_exit(files):
        return Verdict(AttemptFate.EXITED, record)
    if is_lock_held(files):
        return Verdict(AttemptFate.ALIVE)
    # exit.json may have landed between the two looks.
    if record := read_exit(files):
        return Verdict(AttemptFate.EXITED, record)
    return None


def read_exit(files: AttemptFiles) -> ExitRecord | None:
    data = read_json(files.exit)
    return None if data is None else ExitRecord.from_dict(data)


def is_lock_held(files: AttemptFiles) -> bool:
    try:
        fd = os.open(files.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two onlookers do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _take_claim(files: AttemptFiles) -> bool:
    files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        fd = os.open(files.claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    owner = identity_of(os.getpid())
    os.write(fd, json.dumps(owner.to_dict() if owner else {}).encode())
    os.close(fd)
    return True


def _claim_boot_id(files: AttemptFiles) -> str:
    try:
        return str(json.loads(files.claim.read_bytes())["boot_id"])
    except (ValueError, KeyError, TypeError, FileNotFoundError):
        # Claimed but not yet written through: as good as unknown; treat as this boot.
        return boot_id()
