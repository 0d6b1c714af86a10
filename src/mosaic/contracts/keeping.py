"""What is kept of runs and for how long: retention, trash, archives."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True)
class Deletion:
    freed_bytes: int
    is_in_trash: bool
