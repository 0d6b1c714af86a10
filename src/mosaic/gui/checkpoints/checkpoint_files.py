"""What the files of checkpoints are like. Blocking: for threads that may wait."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from mosaic.foreign_files import open_regular
from mosaic.gui.state.checkpoint_cards import Card, FileFacts, HashStatus

# Checked without being asked: that takes no longer than a blink.
SMALL_BYTES = 32 * 2**20
_CHUNK = 1 << 20


def facts_of(card: Card) -> FileFacts:
    try:
        found = card.path.stat()
    except OSError:
        # Where not even the folder of the run is here, the run is another machine's.
        is_here = card.folder is None or card.folder.is_dir()
        return FileFacts(HashStatus.MISSING if is_here else HashStatus.ELSEWHERE)
    if stat.S_ISDIR(found.st_mode):
        return FileFacts(HashStatus.NO_HASH, None, found.st_mtime)
    status = HashStatus.UNCHECKED if card.sha256 else HashStatus.NO_HASH
    return FileFacts(status, found.st_size, found.st_mtime)


def is_checked_unasked(card: Card, facts: FileFacts) -> bool:
    """A run that goes on may save the next one at this very moment."""
    is_over = card.run is None or card.run.is_over
    is_small = facts.size_bytes is not None and facts.size_bytes <= SMALL_BYTES
    return facts.status is HashStatus.UNCHECKED and is_small and is_over


def checked(path: Path, sha256: str) -> HashStatus:
    """Reads the whole file."""
    try:
        found = sha256_of(path)
    except FileNotFoundError:
        return HashStatus.MISSING
    except OSError:
        return HashStatus.DAMAGED
    return HashStatus.VERIFIED if found == sha256 else HashStatus.DAMAGED


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with os.fdopen(open_regular(path), "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
