"""A run that is not over, as the daemon holds it in memory; and what an attempt's end means."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import LIVE_STATES, FailureKind, FailureReason, RunState
from mosaic.daemon.executors.base import AttemptFate, AttemptKey, AttemptVerdict
from mosaic.daemon.runs.exit_failure import INTERRUPTED, LOST
from mosaic.daemon.runs.run_lifecycle import Event, Exited, Failed, NeverStarted, RunStatus
from mosaic.errors import MosaicError, SecretLostError
from mosaic.files import tail_lines


@dataclass
class ActiveRun:
    """Changed only on the event loop, and its state only while holding `lock`."""

    record: RunRecord
    config: TrainRunConfig
    # "stdin" for workers of the SDK, "signals" for foreign scripts; known once launched.
    control: str = "stdin"
    # Order of arrival, independent of the clock.
    position: int = field(default_factory=itertools.count().__next__)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Monotonic: when the journal last grew, to notice missing heartbeats.
    heard_at: float = field(default_factory=time.monotonic)
    # Monotonic: not to be launched before (retry back-off).
    not_before: float = 0.0
    queued_at: float = field(default_factory=time.monotonic)
    worker_failure: dict[str, Any] | None = None
    worker_stop_reason: str = ""
    # Proves the exit.json of the present attempt genuine.
    exit_commitment: str = ""
    # How often a launch left no trace; a broken installation must not loop forever.
    failed_launches: int = 0
    # The task that applies what the journal reported; the next report waits for it.
    reported: asyncio.Task[None] | None = None
    stop_task: asyncio.Task[None] | None = None
    is_progress_stored: bool = True
    # Why it cannot be placed, however much is free: what it needs is not installed. Empty: it can.
    blocked: str = ""
    # The venvs it runs in, which nobody may remove meanwhile.
    venvs: tuple[Path, ...] = ()

    @property
    def run_id(self) -> str:
        return self.record.run_id

    @property
    def key(self) -> AttemptKey:
        return AttemptKey(self.record.run_id, self.record.attempt)

    @property
    def is_live(self) -> bool:
        return self.record.state in LIVE_STATES

    @property
    def is_queued(self) -> bool:
        return self.record.state is RunState.INIT

    @property
    def failures(self) -> int:
        return sum(item.state is RunState.FAULT for item in self.record.transitions)

    def status(self) -> RunStatus:
        return RunStatus(
            state=self.record.state,
            attempt=self.record.attempt,
            failures=self.failures,
            max_attempts=self.config.retry.max_attempts,
            stop_requested=self.record.stop_requested,
            stop_reason=self.record.stop_reason,
            failure=self.record.failure.kind if self.record.failure else None,
        )


MAX_FAILED_LAUNCHES = 3


def launch_failure(error: MosaicError) -> FailureReason:
    is_secret = isinstance(error, SecretLostError)
    kind = FailureKind.SECRET_LOST if is_secret else FailureKind.LAUNCH_ERROR
    return FailureReason(kind, str(error), error.hint)


def plausible_verdict(verdict: AttemptVerdict, state: RunState) -> AttemptVerdict:
    """A worker that has reported has started, even if its folder looks as if it never had."""
    if verdict.fate is AttemptFate.NEVER_STARTED and state is not RunState.HSHK:
        return AttemptVerdict(AttemptFate.LOST, remark="Its attempt's folder was removed.")
    return verdict


def ending_event(run: ActiveRun, verdict: AttemptVerdict, host_log: Path) -> Event:
    if verdict.exit is not None:
        run.record = replace(run.record, stderr_tail=verdict.exit.stderr_tail)
        return Exited(verdict.exit, run.worker_failure, run.worker_stop_reason)
    if verdict.fate is AttemptFate.NEVER_STARTED:
        run.failed_launches += 1
        if run.failed_launches < MAX_FAILED_LAUNCHES:
            return NeverStarted()
        return Failed(
            FailureReason(
                FailureKind.LAUNCH_ERROR,
                f"The run host ended {run.failed_launches} times before it started the worker. "
                + " ".join(tail_lines(host_log, 3)),
                "run `mosaic doctor`",
            )
        )
    failure = INTERRUPTED if verdict.fate is AttemptFate.INTERRUPTED else LOST
    if verdict.remark:
        failure = replace(failure, message=f"{failure.message} {verdict.remark}")
    return Failed(failure)
