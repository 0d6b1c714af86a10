"""Retention: which runs go to the trash by which rules, on demand or once a day.

Never chosen: a run that is not over, is pinned, or has files another run began with; nor one that
`keep_last` or `keep_best` protects. Of the others go those that are too old, and then the oldest
until all runs together are small enough. A policy that only says what to keep deletes the rest.

`retention.toml` in the home holds a policy that the daemon applies by itself, off by default:

    [retention]             # without this table nothing is ever deleted by itself
    max_age_days = 90
    max_total_size = "200GB"
    keep_last = 20
    keep_best = 3

    [trash]
    keep_days = 7           # how long a deleted run can be restored
"""

from __future__ import annotations

import asyncio
import math
import re
import time
import tomllib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from mosaic.contracts.hostile_text import RUN_ID
from mosaic.contracts.keeping import (
    RetentionChoice,
    RetentionPolicy,
    RetentionResult,
    TrashedRun,
    parse_size,
)
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.schema_check import shortened
from mosaic.daemon.keeping.archive.bundle import size_of_run
from mosaic.daemon.keeping.deletion import TrashKeeper
from mosaic.daemon.keeping.kept_runs import KeptRuns
from mosaic.daemon.registry.rows import LAST_MOMENT
from mosaic.errors import ConfigError, RunStateError, StoreError, UnknownRunError
from mosaic.files import MOST_JSON_BYTES
from mosaic.foreign.files import MAX_DOCUMENT_BYTES, read_regular
from mosaic.logs import get_logger
from mosaic.paths import Home

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
    protected = _newest_runs(policy.keep_last, runs) | _best_runs(policy.keep_best, runs)
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
                reasons[run.run_id] = f"the oldest while all runs exceed {_size_sentence(policy)}"
                total -= run.bytes
    if policy.max_age_days is None and policy.max_total_bytes is None:
        reasons = {run.run_id: f"not among {_kept_sentence(policy)}" for run in candidates}
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


def _newest_runs(count: int | None, runs: Sequence[KeptRun]) -> set[str]:
    over = sorted((run for run in runs if run.is_over), key=lambda run: run.age_from)
    return {run.run_id for run in over[len(over) - count :]} if count else set()


def _best_runs(count: int | None, runs: Sequence[KeptRun]) -> set[str]:
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


def _size_sentence(policy: RetentionPolicy) -> str:
    return f"{(policy.max_total_bytes or 0) / 1e9:g} GB"


def _kept_sentence(policy: RetentionPolicy) -> str:
    parts = []
    if policy.keep_last is not None:
        parts.append(f"the last {policy.keep_last}")
    if policy.keep_best is not None:
        parts.append(f"the best {policy.keep_best} of its environment and worker")
    return " or ".join(parts)


DEFAULT_KEEP_DAYS = 7.0
MAX_NUMBER = 1_000_000_000  # of days, or of runs
_RULES = ("max_age_days", "max_total_size", "keep_last", "keep_best")


@dataclass(frozen=True)
class KeepingSettings:
    policy: RetentionPolicy | None = None
    trash_keep_days: float = DEFAULT_KEEP_DAYS


def read_settings(path: Path) -> KeepingSettings:
    """The defaults when there is no file; raises ConfigError for one that says nonsense."""
    try:
        data = tomllib.loads(read_regular(path, MAX_DOCUMENT_BYTES).decode())
    except FileNotFoundError:
        return KeepingSettings()
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", hint="mend it or remove it", field=path.name
        ) from error
    return parse_settings(data)


def parse_settings(data: dict[str, Any]) -> KeepingSettings:
    _refuse_unknown(data, ("retention", "trash"), "")
    trash = _table(data, "trash", ("keep_days",))
    keep_days = _number(trash, "trash", "keep_days")
    policy = None
    if "retention" in data:
        rules = _table(data, "retention", _RULES)
        size = rules.get("max_total_size")
        policy = check_policy(
            RetentionPolicy(
                max_age_days=_number(rules, "retention", "max_age_days"),
                max_total_bytes=None if size is None else parse_size(size, "max_total_size"),
                keep_last=_count(rules, "keep_last"),
                keep_best=_count(rules, "keep_best"),
            )
        )
    return KeepingSettings(policy, DEFAULT_KEEP_DAYS if keep_days is None else keep_days)


def _table(data: dict[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"[{name}] in retention.toml is not a table", field=name)
    _refuse_unknown(table, known, f"{name}.")
    return table


def _refuse_unknown(table: dict[str, Any], known: tuple[str, ...], prefix: str) -> None:
    """A misspelled rule must not count as an absent one."""
    for name in table:
        if name not in known:
            raise ConfigError(
                f"retention.toml has an unknown entry {prefix}{name}",
                hint=f"known: {', '.join(known)}",
                field=f"{prefix}{name}",
            )


def _number(table: dict[str, Any], where: str, name: str) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MAX_NUMBER:
        raise ConfigError(
            f"{where}.{name} is {shortened(value)}",
            hint=f"give a number, 0 to {MAX_NUMBER:,}",
            field=f"{where}.{name}",
        )
    return float(value)


def _count(table: dict[str, Any], name: str) -> int | None:
    value = _number(table, "retention", name)
    if value is not None and value != int(value):
        raise ConfigError(
            f"retention.{name} is {value}", hint="give a whole number", field=f"retention.{name}"
        )
    return None if value is None else int(value)


# Anywhere in the text: as the parent a client noted, or within the path of a checkpoint.
_MENTION = re.compile(rf"(?<![0-9A-Z]){RUN_ID.pattern}(?![0-9A-Z])")


def needed_runs(home: Home, run_ids: Collection[str]) -> set[str]:
    """Those of the runs that the config of another of them mentions."""
    known = set(run_ids)
    needed: set[str] = set()
    for run_id in known:
        try:
            text = read_regular(home.config(run_id), MOST_JSON_BYTES).decode(errors="replace")
        except OSError:
            continue
        needed |= mentioned_runs(text, run_id) & known
    return needed


def mentioned_runs(text: str, run_id: str) -> set[str]:
    return set(_MENTION.findall(text)) - {run_id}


log = get_logger(__name__)

ALARM = "retention"
LOOK_EVERY_S = 3600.0
APPLY_EVERY_S = 86_400.0


class RetentionKeeper:
    def __init__(self, kept_runs: KeptRuns, trash: TrashKeeper) -> None:
        self._kept_runs = kept_runs
        self._trash = trash
        self._applied_at: float | None = None

    async def trashed(self) -> list[TrashedRun]:
        """What is in the trash, with when it goes for good."""
        runs = await self._trash.runs()
        try:
            path = self._kept_runs.home.retention_settings
            settings = await asyncio.to_thread(read_settings, path)
        except (ConfigError, OSError):
            return runs  # until the rules are mended, nothing goes
        keep_s = settings.trash_keep_days * 86_400
        return [replace(run, goes_at=min(run.deleted_at + keep_s, LAST_MOMENT)) for run in runs]

    async def apply(self, policy: RetentionPolicy, dry_run: bool) -> RetentionResult:
        """What goes, or would go; whatever goes can be restored from the trash."""
        check_policy(policy)
        records, _ = await self._kept_runs.registry.list()
        runs = await asyncio.to_thread(self._described, records)
        chosen = plan(policy, runs, time.time())
        if dry_run:
            return chosen
        kept, kept_bytes, deleted = chosen.kept, chosen.kept_bytes, []
        for choice in chosen.deleted:
            try:
                await self._trash.delete(choice.run_id, reason=choice.reason)
            except (RunStateError, UnknownRunError) as error:
                log.warning("retention.skipped", run_id=choice.run_id, error=error)
                kept, kept_bytes = kept + 1, kept_bytes + choice.bytes
            else:
                deleted.append(choice)
        return RetentionResult(tuple(deleted), kept, kept_bytes)

    def _described(self, records: list[RunRecord]) -> list[KeptRun]:
        home = self._kept_runs.home
        needed = needed_runs(home, [record.run_id for record in records])
        return [
            KeptRun(
                run_id=record.run_id,
                run_name=record.run_name,
                worker=record.worker,
                env_id=record.env_id,
                bytes=size_of_run(home, record.run_id),
                is_over=record.is_over,
                pinned=record.pinned,
                is_needed=record.run_id in needed,
                finished_at=record.finished_at or record.updated_at,
                updated_at=record.updated_at,
                mean_return=record.progress.mean_return,
            )
            for record in records
        ]

    async def watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Empty the trash of what is overdue; apply the standing policy when a day has passed."""
        alarms, path = self._kept_runs.supervisor.alarms, self._kept_runs.home.retention_settings
        try:
            settings = await asyncio.to_thread(read_settings, path)
            alarms.pop(ALARM, None)
            await self._trash.empty_overdue(settings.trash_keep_days)
            is_due = self._applied_at is None or time.monotonic() - self._applied_at > APPLY_EVERY_S
            if settings.policy and is_due:
                result = await self.apply(settings.policy, dry_run=False)
                self._applied_at = time.monotonic()
                log.info("retention.applied", deleted=len(result.deleted), kept=result.kept)
        except ConfigError as error:
            # Nothing is deleted by rules that cannot be understood.
            alarms[ALARM] = f"{error} Nothing is cleaned up until it is mended."
        except (StoreError, OSError) as error:
            log.error("keeping.failed", error=str(error))
