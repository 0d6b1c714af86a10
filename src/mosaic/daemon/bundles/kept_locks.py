"""What a run keeps of its bundles: the locks of the venvs it ran in, and what may be installed.

A run that has locks of its own runs by these and no others: its next attempt, a reproduction of it
and a replay find what the first attempt had, whatever this installation has become since.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mosaic.bundles.locks import Lock, read_lock
from mosaic.contracts.run_files import RunFiles
from mosaic.errors import BundleError, CorruptStoreError
from mosaic.files import atomic_write, atomic_write_json, read_json
from mosaic.foreign.files import MAX_DOCUMENT_BYTES, read_regular
from mosaic.logs import get_logger

log = get_logger(__name__)


@dataclass(frozen=True)
class Agreement:
    """What a run needs may be installed for it, up to so many bytes to fetch; None: any."""

    most_bytes: int | None = None


def keep_locks(files: RunFiles, locks: Iterable[Lock]) -> None:
    """Those it has kept already stay as they are."""
    known = kept_locks(files)
    free = (path for path in files.bundle_locks if not path.exists())
    for lock in locks:
        if lock.bundle not in known:
            atomic_write(next(free), lock.text.encode())


def kept_locks(files: RunFiles) -> dict[str, Lock]:
    """By the name of what was joined. They may come from an archive: nothing in them is trusted,
    and one that is damaged counts for nothing."""
    found: dict[str, Lock] = {}
    for path in files.bundle_locks:
        try:
            text = read_regular(path, MAX_DOCUMENT_BYTES).decode()
        except FileNotFoundError:
            break
        except (OSError, UnicodeDecodeError) as error:
            log.warning("lock.unreadable", path=str(path), error=str(error))
            continue
        try:
            lock = read_lock(text, path.name)
        except (BundleError, CorruptStoreError, ValueError) as error:
            log.warning("lock.unreadable", path=str(path), error=str(error))
            continue
        found[lock.bundle] = lock
    return found


def keep_agreement(files: RunFiles, agreement: Agreement) -> None:
    atomic_write_json(files.install_agreement, asdict(agreement))


def kept_agreement(files: RunFiles) -> Agreement | None:
    """None: nobody agreed to anything, or took it back."""
    try:
        data: Any = read_json(files.install_agreement)
    except (OSError, ValueError):
        return None
    most = data.get("most_bytes") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not (most is None or isinstance(most, int)):
        return None
    return Agreement(most)


def revoke_agreement(files: RunFiles) -> None:
    files.install_agreement.unlink(missing_ok=True)
