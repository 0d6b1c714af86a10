"""Pre-flight checks: what would make a run fail for sure is told at submission, with a fix.

One file per check; each takes a `Submission` and returns what it found.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.launch.command import LaunchCommand
from mosaic.daemon.machine import Capacity
from mosaic.daemon.preflight import (
    disk_space,
    gpus,
    interpreter,
    machine_size,
    readiness,
    worker_config,
    worker_import,
)
from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.paths import Home

__all__ = ["PreflightResult", "raise_first_failure", "run_preflight"]

# In the order in which failures are reported: what the submitter wrote, then the machine.
CHECKS: tuple[Callable[[Subject], list[PreflightResult]], ...] = (
    interpreter.check,
    worker_import.check,
    worker_config.check,
    machine_size.check,
    gpus.check,
    readiness.check,
    disk_space.check,
)


async def run_preflight(
    config: TrainRunConfig,
    command: LaunchCommand,
    capacity: Capacity,
    home: Home,
    past: Iterable[RunRecord] = (),
    is_confirmed: bool = True,
) -> list[PreflightResult]:
    """All checks at once, each in a thread; the order of the results is always the same."""
    subject = Subject(config, command, capacity, home, tuple(past), is_confirmed)
    found = await asyncio.gather(*(asyncio.to_thread(check, subject) for check in CHECKS))
    return [result for results in found for result in results]


def raise_first_failure(results: Iterable[PreflightResult]) -> None:
    """Raise the typed error of the first required check that failed."""
    for result in results:
        if result.is_fatal:
            raise result.error(
                result.message, hint=result.fix, check=result.check, **result.details
            )
