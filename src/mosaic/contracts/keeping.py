"""What is kept of runs and for how long: retention, trash, archives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mosaic.contracts.schema_check import shortened
from mosaic.errors import ConfigError


@dataclass(frozen=True)
class RetentionPolicy:
    """Which runs that are over may go. A rule that is None chooses nothing.

    Pinned runs and runs that are not over are never chosen, nor is one that `keep_last` or
    `keep_best` protects.
    """

    max_age_days: float | None = None
    max_total_bytes: int | None = None
    keep_last: int | None = None
    keep_best: int | None = None  # per environment and worker, by mean return


@dataclass(frozen=True)
class RetentionChoice:
    run_id: str
    run_name: str
    bytes: int
    reason: str
    finished_at: float


@dataclass(frozen=True)
class RetentionResult:
    deleted: tuple[RetentionChoice, ...]
    kept: int
    kept_bytes: int


@dataclass(frozen=True)
class TrashedRun:
    run_id: str
    run_name: str
    deleted_at: float
    bytes: int
    reason: str
    goes_at: float | None = None  # for good; None where the rules for that cannot be read


@dataclass(frozen=True)
class Deletion:
    freed_bytes: int
    is_in_trash: bool


_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
MOST_BYTES = 10**18
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(value: object, field: str) -> int:
    """`20GB`, `1.5 TB`, `512MiB` or a number of bytes."""
    size = _bytes_in(value)
    if size is None or not 0 <= size <= MOST_BYTES:
        raise ConfigError(
            f"{field} is {shortened(value)}", hint="write a size such as 20GB", field=field
        )
    return size


def _bytes_in(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) and len(value) < 40 else None
    if match is None:
        return None
    number, unit, is_binary = match.groups()
    base = 1024 if is_binary else 1000
    return int(float(number) * base ** _POWERS[unit.lower()])
