"""Decides from an attempt's files what became of it. Safe against a run host that is just starting,
and against a worker that tampered with them.

The run host takes the lock, then the claim, then starts the worker, and writes exit.json last,
with the proof that it was the one who did. So: a held lock means alive, whatever else is there;
exit.json is the truth if its proof fits; and whoever creates the claim decides whether the worker
may ever start.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from mosaic.contracts.run_files import AttemptFiles, ExitRecord
from mosaic.daemon.executors.base import AttemptFate, AttemptKey, AttemptVerdict
from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write_json, is_locked
from mosaic.logs import get_logger
from mosaic.processes import boot_id, identity_of
from mosaic.runhost.attempt_files import read_claim, read_exit, set_aside, was_set_aside
from mosaic.runhost.attempt_processes import find_host

log = get_logger(__name__)


def commitment_of(proof: str) -> str:
    """What is kept of a proof: enough to recognise it, useless for forging one."""
    return hashlib.sha256(proof.encode()).hexdigest()


def is_attempt_alive(files: AttemptFiles, is_destroyed: bool = False) -> bool:
    """Once we have destroyed it, a lock that somebody else holds keeps it alive no longer."""
    return (is_locked(files.lock) and not is_destroyed) or find_host(files) is not None


def examine_attempt(
    files: AttemptFiles, key: AttemptKey, commitment: str = "", is_destroyed: bool = False
) -> AttemptVerdict:
    """`commitment` is empty for an attempt that a MOSAIC without proofs has launched."""
    remarks: list[str] = []
    for _look in range(2):
        if is_attempt_alive(files, is_destroyed):
            return AttemptVerdict(AttemptFate.ALIVE)
        if record := _proven_exit(files, key, commitment, remarks):
            return AttemptVerdict(AttemptFate.EXITED, record)
        has_started = os.path.lexists(files.live) or was_set_aside(files.live) or bool(remarks)
        if (_take_claim(files) or _is_refused(files)) and not has_started:
            return AttemptVerdict(AttemptFate.NEVER_STARTED)
        # Somebody has the claim. The attempt may have started or ended since we looked.
    fate = AttemptFate.LOST if _claimed_in(files, remarks) == boot_id() else AttemptFate.INTERRUPTED
    return AttemptVerdict(fate, remark=" ".join(remarks))


def _proven_exit(
    files: AttemptFiles, key: AttemptKey, commitment: str, remarks: list[str]
) -> ExitRecord | None:
    """The run host's last word; what only looks like it is set aside, with a remark for people."""
    try:
        record = read_exit(files, key.run_id, key.attempt)
        if record is None or not commitment or _fits(record.proof, commitment):
            return record
        problem = "Its exit.json was not written by its run host"
    except CorruptStoreError as error:
        problem = f"Its exit.json cannot be used ({error})"
    refused = set_aside(files.exit)
    log.error(
        "attempt_file.refused",
        run_id=key.run_id,
        attempt=key.attempt,
        problem=problem,
        kept_as=str(refused),
    )
    kept = f" and is kept as {refused.name}" if refused else ""
    remarks.append(f"{problem}{kept}.")
    return None


def _fits(proof: str, commitment: str) -> bool:
    return hmac.compare_digest(commitment_of(proof).encode(), commitment.encode())


def _take_claim(files: AttemptFiles) -> bool:
    """True when nobody had it, and now nobody can get it.

    The link makes it appear with its content or not at all: were we killed in between, the next
    daemon must still see who took it, and never take us for a run host.
    """
    if os.path.lexists(files.claim):
        return False
    files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = identity_of(os.getpid())
    draft = files.claim.with_name(f".claim.{os.urandom(4).hex()}")
    atomic_write_json(draft, {"refused_by": owner.to_dict() if owner else {}})
    try:
        files.claim.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _is_refused(files: AttemptFiles) -> bool:
    """True when an earlier recovery took the claim but died before recording it."""
    try:
        claim = read_claim(files)
    except CorruptStoreError:
        return False
    return claim is not None and claim.is_refused


def _claimed_in(files: AttemptFiles, remarks: list[str]) -> str:
    """The boot in which it was claimed; this one, where the claim does not say."""
    try:
        claim = read_claim(files)
    except CorruptStoreError as error:
        remarks.append(f"Its claim cannot be used ({error}).")
        return boot_id()
    return boot_id() if claim is None or claim.host is None else claim.host.boot_id
