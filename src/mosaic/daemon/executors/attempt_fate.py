"""Decides from an attempt's files what became of it. Safe against a run host that is just starting.

The run host takes the lock, then the claim, then starts the worker, and writes exit.json last.
So: exit.json is the truth if it is there; a held lock means alive; and whoever creates the claim
decides whether the worker may ever start.
"""

from __future__ import annotations

import os
from typing import Any

from mosaic.contracts.run_files import AttemptFiles, ExitRecord
from mosaic.daemon.executors.base import AttemptFate, Verdict
from mosaic.files import atomic_write_json, is_locked, read_json
from mosaic.processes import boot_id, identity_of

# In a claim that recovery has taken, so that the attempt can never start.
REFUSED_BY = "refused_by"


def examine_attempt(files: AttemptFiles) -> Verdict:
    verdict = _visible_fate(files)
    if verdict is not None:
        return verdict
    if _take_claim(files) or _is_refused(files):
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
    if is_locked(files.lock):
        return Verdict(AttemptFate.ALIVE)
    # exit.json may have landed between the two looks.
    if record := read_exit(files):
        return Verdict(AttemptFate.EXITED, record)
    return None


def read_exit(files: AttemptFiles) -> ExitRecord | None:
    data = read_json(files.exit)
    return None if data is None else ExitRecord.from_dict(data)


def _take_claim(files: AttemptFiles) -> bool:
    """True when nobody had it, and now nobody gets it.

    The link makes it appear with its content or not at all: were we killed in between, the next
    daemon must still see who took it, and never take us for a run host.
    """
    if files.claim.exists():
        return False
    files.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = identity_of(os.getpid())
    draft = files.claim.with_name(f".claim.{os.urandom(4).hex()}")
    atomic_write_json(draft, {REFUSED_BY: owner.to_dict() if owner else {}})
    try:
        files.claim.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def _is_refused(files: AttemptFiles) -> bool:
    """True when an earlier recovery took the claim, but did not live to say so."""
    return REFUSED_BY in _claim(files)


def _claim(files: AttemptFiles) -> dict[str, Any]:
    """Empty when it was claimed but not yet, or never, written through."""
    try:
        data = read_json(files.claim)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _claim_boot_id(files: AttemptFiles) -> str:
    # One that was never written through is as good as unknown; treat it as of this boot.
    return str(_claim(files).get("boot_id", boot_id()))
