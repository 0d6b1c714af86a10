"""Which runs retention would delete, and why. Pure: runs and a policy in, choices out.

Never chosen: a run that is not over, is pinned, or has files another run began with; nor one that
`keep_last` or `keep_best` protects. Of the others go those that are too old, and then the oldest
until all runs together are small enough. A policy that only says what to keep deletes the rest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields

from mosaic.contracts.keeping import RetentionChoice, RetentionPolicy, RetentionResult
from mosaic.errors import ConfigError

DAY_S = 86_400.0


@dataclass(frozen=True)
class KeptRun:
    """What the plan needs to know of a run."""

    run_id: str
    run_name: str
    worker: str
    env_id: str
    bytes: int
    is_over: bool
    pinned: bool
    # Another run was resumed from it or evaluates it.
    is_needed: bool
    finished_at: float
    # When it came to this home or changed last, if that was after its end.
    updated_at: float
    mean_return: float | None

    @property
    def age_from(self) -> float:
        return max(self.finished_at, self.updated_at)


def check_policy(policy: RetentionPolicy) -> RetentionPolicy:
    for field in fields(policy):
        value = getattr(policy, field.name)
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise ConfigError(
                f"{field.name} is {value}", hint="give a number, 0 or more", field=field.name
            )
    if all(getattr(policy, field.name) is None for field in fields(policy)):
        raise ConfigError(
            "The retention policy has no rule",
            hint="give at least one of max_age_days, max_total_bytes, keep_last, keep_best",
            field="policy",
        )
    return policy


def plan(policy: RetentionPolicy, runs: Sequence[KeptRun], now: float) -> RetentionResult:
    free = [run for run in runs if run.is_over and not run.pinned and not run.is_needed]
    protected = _last(policy.keep_last, runs) | _best(policy.keep_best, runs)
    # The oldest first: so they are listed, and so they go.
    candidates = sorted(
        (run for run in free if run.run_id not in protected),
        key=lambda run: (run.age_from, run.run_id),
    )
    reasons: dict[str, str] = {}
    if policy.max_age_days is not None:
        for run in candidates:
            if now - run.age_from > policy.max_age_days * DAY_S:
                reasons[run.run_id] = f"older than {policy.max_age_days:g} days"
    if policy.max_total_bytes is not None:
        total = sum(run.bytes for run in runs if run.run_id not in reasons)
        for run in candidates:
            if total <= policy.max_total_bytes:
                break
            if run.run_id not in reasons:
                reasons[run.run_id] = f"the oldest while all runs exceed {_size(policy)}"
                total -= run.bytes
    if policy.max_age_days is None and policy.max_total_bytes is None:
        reasons = {run.run_id: f"not among {_kept(policy)}" for run in candidates}
    chosen = [run for run in candidates if run.run_id in reasons]
    kept = [run for run in runs if run.run_id not in reasons]
    return RetentionResult(
        tuple(
            RetentionChoice(
                run.run_id, run.run_name, run.bytes, reasons[run.run_id], run.finished_at
            )
            for run in chosen
        ),
        len(kept),
        sum(run.bytes for run in kept),
    )


def _last(count: int | None, runs: Sequence[KeptRun]) -> set[str]:
    over = sorted((run for run in runs if run.is_over), key=lambda run: run.age_from)
    return {run.run_id for run in over[len(over) - count :]} if count else set()


def _best(count: int | None, runs: Sequence[KeptRun]) -> set[str]:
    if not count:
        return set()
    rivals: dict[tuple[str, str], list[KeptRun]] = defaultdict(list)
    for run in runs:
        if run.is_over and run.mean_return is not None and math.isfinite(run.mean_return):
            rivals[run.env_id, run.worker].append(run)
    best: set[str] = set()
    for group in rivals.values():
        group.sort(key=lambda run: (run.mean_return or 0.0, run.age_from), reverse=True)
        best.update(run.run_id for run in group[:count])
    return best


def _size(policy: RetentionPolicy) -> str:
    return f"{(policy.max_total_bytes or 0) / 1e9:g} GB"


def _kept(policy: RetentionPolicy) -> str:
    parts = []
    if policy.keep_last is not None:
        parts.append(f"the last {policy.keep_last}")
    if policy.keep_best is not None:
        parts.append(f"the best {policy.keep_best} of its environment and worker")
    return " or ".join(parts)
