"""Opens Optuna studies, whichever of the two kinds of file holds them."""

from __future__ import annotations

import os
from pathlib import Path

from mosaic.analytics.growing_records import unreadable
from mosaic.analytics.optuna_journal import JournalStudies
from mosaic.analytics.optuna_sqlite import SqliteStudies
from mosaic.errors import StoreError
from mosaic.foreign_files import open_regular

_SQLITE_MARK = b"SQLite format 3\0"


def open_studies(path: Path | str) -> SqliteStudies | JournalStudies:
    """A reader for this file; each `read()` gives the studies as they are then."""
    file = Path(path)
    try:
        with os.fdopen(open_regular(file), "rb") as opened:
            mark = opened.read(len(_SQLITE_MARK))
    except FileNotFoundError as error:
        raise StoreError(f"There is no file {file}", path=str(file)) from error
    except OSError as error:
        raise unreadable(file, error) from error
    return SqliteStudies(file) if mark == _SQLITE_MARK else JournalStudies(file)
