"""What the supervisor asks of whoever runs the run hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mosaic.contracts.run_files import AttemptSpec, ExitRecord


class AttemptFate(StrEnum):
    ALIVE = "alive"  # its run host holds the lock
    EXITED = "exited"  # exit.json says how
    NEVER_STARTED = "never_started"  # and now never will: recovery has taken the claim
    LOST = "lost"  # claimed, no lock, no exit.json
    INTERRUPTED = "interrupted"  # as lost, but the machine has been restarted since


@dataclass(frozen=True)
class Verdict:
    fate: AttemptFate
    exit: ExitRecord | None = None


@dataclass(frozen=True)
class AttemptKey:
    run_id: str
    attempt: int


# Called on the event loop when an attempt's run host is gone.
OnGone = Callable[[AttemptKey], None]


class Executor(Protocol):
    """One instance serves all runs; every method is safe to call again after a crash."""

    async def launch(self, spec: AttemptSpec, on_gone: OnGone) -> None:
        """Start a run host. Called once per attempt, after the attempt is committed."""

    async def adopt(self, key: AttemptKey, on_gone: OnGone) -> Verdict:
        """Called at daemon start: watch the attempt if it is alive, else say what became of it."""

    async def examine(self, key: AttemptKey) -> Verdict:
        """What became of an attempt whose run host is gone."""

    async def control(self, key: AttemptKey, command: dict[str, Any]) -> dict[str, Any]:
        """One command to the run host; waits for a host that is just starting."""

    async def poll(self, key: AttemptKey) -> str | None:
        """The kernel's state letter of the worker process, None when unknown."""

    async def destroy(self, key: AttemptKey) -> None:
        """Kill the run host and everything below it, and clean up what it cannot clean itself."""

    async def close(self) -> None:
        """The daemon ends; runs go on."""
