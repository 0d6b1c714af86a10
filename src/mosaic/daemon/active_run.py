"""What the daemon holds in memory about a run that is not over yet."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import LIVE_STATES, RunState
from mosaic.daemon.executors.base import AttemptKey
from mosaic.daemon.run_lifecycle import RunStatus


@dataclass
class ActiveRun:
    """Changed only on the event loop, and its state only while holding `lock`."""

    record: RunRecord
    config: TrainRunConfig
    # "stdin" for workers of the SDK, "signals" for foreign scripts; known once launched.
    control: str = "stdin"
    # Who came first, whatever the clock says meanwhile.
    position: int = field(default_factory=itertools.count().__next__)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Monotonic: when the journal last grew, to notice missing heartbeats.
    heard_at: float = field(default_factory=time.monotonic)
    # Monotonic: not to be launched before (retry back-off).
    not_before: float = 0.0
    queued_at: float = field(default_factory=time.monotonic)
    worker_failure: dict[str, Any] | None = None
    worker_stop_reason: str = ""
    # By which the exit.json of the present attempt is known to be genuine.
    exit_commitment: str = ""
    # How often a launch left no trace; a broken installation must not loop for ever.
    vain_launches: int = 0
    # The task that applies what the journal reported; the next report waits for it.
    reported: asyncio.Task[None] | None = None
    stop_task: asyncio.Task[None] | None = None
    is_progress_stored: bool = True

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
