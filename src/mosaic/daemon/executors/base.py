"""What the supervisor asks of whoever runs the run hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mosaic.contracts.run_files import AttemptSpec, ExitRecord


class AttemptFate(StrEnum):
    ALIVE = "alive"  # its run host holds the lock
    EXITED = "exited"  # exit.json says how, and its proof fits
    NEVER_STARTED = "never_started"  # and now never will: recovery has taken the claim
    LOST = "lost"  # claimed, no lock, no exit.json that counts
    INTERRUPTED = "interrupted"  # as lost, but the machine has been restarted since


@dataclass(frozen=True)
class AttemptVerdict:
    fate: AttemptFate
    exit: ExitRecord | None = None
    # For people: which of the attempt's files could not be used, and where they are kept.
    remark: str = ""


@dataclass(frozen=True)
class AttemptKey:
    run_id: str
    attempt: int


@dataclass(frozen=True)
class WorkerProcess:
    """The kernel's state letter of the worker process, None when unknown."""

    state: str | None
    # For people: why it had to be found in an unusual way.
    problem: str = ""


# Called on the event loop when an attempt's run host is gone.
OnGone = Callable[[AttemptKey], None]


class Executor(Protocol):
    """One instance serves all runs; every method is safe to call again after a crash."""

    async def launch(self, spec: AttemptSpec, on_gone: OnGone) -> None:
        """Start a run host. Called once per attempt, after the attempt is committed."""

    async def adopt(self, key: AttemptKey, commitment: str, on_gone: OnGone) -> AttemptVerdict:
        """Watch the attempt if it is alive, else say what became of it.

        `commitment` tells a genuine exit.json from others; empty where there is none. Raises
        StoreError only for what may pass in a moment, never because of what is in the files.
        """

    async def control(self, key: AttemptKey, command: dict[str, Any]) -> dict[str, Any]:
        """One command to the run host; waits for a host that is just starting."""

    async def terminate(self, key: AttemptKey) -> bool:
        """Have the run host stop its worker by a signal, when its socket cannot be used.

        False when there is no host.
        """

    async def poll(self, key: AttemptKey) -> WorkerProcess:
        """Look at the worker process."""

    async def destroy(self, key: AttemptKey) -> None:
        """Kill the run host and everything below it, and clean up what it cannot clean itself.

        From then on the attempt is alive only while its host is; a lock that somebody else holds
        no longer counts.
        """

    async def close(self) -> None:
        """The daemon ends; runs continue."""
