"""Turns SQLite's errors into ours, and tells a damaged file from a full or read-only disk."""

from __future__ import annotations

import sqlite3

from mosaic.errors import CorruptStoreError, StoreError

# The machine's trouble, not the file's: these must never send a good registry into quarantine.
_ENVIRONMENT = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_PERM",
    "SQLITE_READONLY",
)
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ", "SQLITE_IOERR_CORRUPTFS")


def error_name(error: sqlite3.Error) -> str:
    # Errors that the Python module raises by itself carry no code.
    return getattr(error, "sqlite_errorname", "")


def is_environment_error(error: sqlite3.Error) -> bool:
    name = error_name(error)
    return name.startswith(_ENVIRONMENT) and not name.startswith(_DAMAGE)


def store_error(error: sqlite3.Error) -> StoreError:
    """The error a caller of the registry gets, with what to do about it."""
    name = error_name(error)
    if name.startswith(_DAMAGE):
        return CorruptStoreError(
            f"The registry is damaged: {error}",
            hint="restart the daemon; it restores the registry from its backup and the runs' files",
        )
    if name.startswith("SQLITE_READONLY"):
        hint = "make the home directory writable again; the daemon then carries on by itself"
    elif name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        hint = "free some disk space; the daemon then carries on by itself"
    else:
        hint = "look at the daemon's log"
    return StoreError(f"The registry cannot be used: {error}", hint=hint, cause=name)
