"""How far a journal reaches now, for whoever wants only what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.errors import StoreError
from mosaic.telemetry.journal_files import opened_journal

TAIL_BYTES = 4096


class JournalExtent(NamedTuple):
    # Where the last whole line ends.
    lines_end: int = 0
    size: int = 0


def journal_extent(path: Path) -> JournalExtent:
    """Nowhere when there is no journal yet."""
    try:
        with opened_journal(path) as journal:
            size = journal.size
            for length in (TAIL_BYTES, MAX_LINE_BYTES + 1):
                start = max(0, size - length)
                newline = journal.read(size - start, start).rfind(b"\n")
                if newline >= 0:
                    return JournalExtent(start + newline + 1, size)
    except FileNotFoundError:
        return JournalExtent()
    except OSError as error:
        raise StoreError(
            f"The journal {path} cannot be read: {error.strerror}",
            hint="check the disk and the file's permissions",
            path=str(path),
            errno=error.errno,
        ) from error
    # Nothing but the beginning of a line; one that is too long is never delivered.
    return JournalExtent(0 if size <= MAX_LINE_BYTES else size, size)
