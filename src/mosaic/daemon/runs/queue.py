"""Which queued runs may start now. Pure: demands and capacity in, placements out.

The order is priority, then age. Whatever does not fit is overtaken by smaller runs behind it, but
only for RESERVE_AFTER_S seconds: from then on its demand is set aside before anything behind it is
looked at, so that what becomes free gathers for it and it cannot starve.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mosaic.contracts.run_config import Resources
from mosaic.daemon.executors.machine import Capacity

RESERVE_AFTER_S = 60.0


@dataclass(frozen=True)
class Demand:
    """A run as the queue sees it; times are of one and the same clock as `now`."""

    run_id: str
    cpus: int
    memory_mb: int
    gpus_requested: int = 0
    gpus_mandatory: bool = False
    priority: int = 0
    created_at: float = 0.0
    queued_at: float = 0.0
    not_before: float = 0.0
    # Of a run that is running: the GPUs it holds.
    gpu_slots: tuple[int, ...] = ()


@dataclass(frozen=True)
class Placement:
    run_id: str
    gpu_slots: tuple[int, ...]


@dataclass(frozen=True)
class Misfit:
    """A demand that this machine can never meet: which field, and why."""

    field: str
    message: str


@dataclass
class _Free:
    cpus: int
    memory_mb: int
    gpus: list[int]

    def holds(self, demand: Demand, gpus: int) -> bool:
        return (
            demand.cpus <= self.cpus
            and demand.memory_mb <= self.memory_mb
            and gpus <= len(self.gpus)
        )

    def take(self, demand: Demand, gpus: int) -> tuple[int, ...]:
        """Also sets aside more than there is; the debt keeps what becomes free later."""
        self.cpus -= demand.cpus
        self.memory_mb -= demand.memory_mb
        taken, self.gpus = self.gpus[:gpus], self.gpus[gpus:]
        return tuple(taken)


def choose(
    queued: Iterable[Demand], in_use: Iterable[Demand], capacity: Capacity, now: float
) -> list[Placement]:
    """The runs to start now, in the order in which to start them."""
    free = _free(in_use, capacity)
    placements = []
    for demand in sorted(queued, key=lambda run: (-run.priority, run.created_at, run.run_id)):
        if demand.not_before > now or not fits_machine(demand, capacity):
            continue
        gpus = gpus_needed(demand, capacity)
        if free.holds(demand, gpus):
            placements.append(Placement(demand.run_id, free.take(demand, gpus)))
        elif now - demand.queued_at >= RESERVE_AFTER_S:
            free.take(demand, gpus)
    return placements


def waiting_reason(demand: Demand, in_use: Iterable[Demand], capacity: Capacity, now: float) -> str:
    """Why a run is not placed, for the person who waits for it."""
    if demand.not_before > now:
        return f"waiting {demand.not_before - now:.0f} s before the next attempt"
    if found := _misfits(demand, capacity):
        return found[0].message
    free = _free(in_use, capacity)
    gpus = gpus_needed(demand, capacity)
    if gpus > len(free.gpus):
        return f"waiting for {_count(gpus, 'GPU')}; {_are_free(len(free.gpus))}"
    if demand.cpus > free.cpus:
        return f"waiting for {_count(demand.cpus, 'CPU')}; {_are_free(max(0, free.cpus))}"
    if demand.memory_mb > free.memory_mb:
        return f"waiting for {demand.memory_mb} MB of memory; {_are_free(max(0, free.memory_mb))}"
    return "waiting for its turn; a run ahead of it is next"


def gpus_needed(demand: Demand, capacity: Capacity) -> int:
    """Without `mandatory` a run takes what the machine has, down to none at all."""
    if demand.gpus_mandatory:
        return demand.gpus_requested
    return min(demand.gpus_requested, len(capacity.gpus))


def memory_to_set_aside(resources: Resources, estimate_mb: int, capacity: Capacity) -> int:
    """A limit in full, since it may be used up. A run without one takes what it is expected to
    need, but nobody waits forever because of a guess: never more than the machine has."""
    if resources.memory_mb is not None:
        return resources.memory_mb
    return min(resources.expected_memory_mb or estimate_mb, capacity.memory_mb)


def fits_machine(demand: Demand, capacity: Capacity) -> bool:
    return not _misfits(demand, capacity)


def misfits(resources: Resources, capacity: Capacity) -> list[Misfit]:
    """What a submission asks for that the whole machine does not have."""
    gpus = resources.gpus
    limit_mb = resources.memory_mb or 0
    return _misfits(Demand("", resources.cpus, limit_mb, gpus.requested, gpus.mandatory), capacity)


def _misfits(demand: Demand, capacity: Capacity) -> list[Misfit]:
    found = []
    gpus = gpus_needed(demand, capacity)
    if gpus > len(capacity.gpus):
        has = _count(len(capacity.gpus), "GPU") if capacity.gpus else "no GPU"
        message = f"the run needs {_count(gpus, 'GPU')}; this machine has {has}"
        found.append(Misfit("resources.gpus.requested", message))
    if demand.cpus > capacity.cpus:
        message = (
            f"the run needs {_count(demand.cpus, 'CPU')}; "
            f"this machine has {_count(capacity.cpus, 'CPU')}"
        )
        found.append(Misfit("resources.cpus", message))
    if demand.memory_mb > capacity.memory_mb:
        message = (
            f"the run needs {demand.memory_mb} MB of memory; "
            f"this machine has {capacity.memory_mb} MB"
        )
        found.append(Misfit("resources.memory_mb", message))
    return found


def _free(in_use: Iterable[Demand], capacity: Capacity) -> _Free:
    running = list(in_use)
    held = {slot for run in running for slot in run.gpu_slots}
    return _Free(
        cpus=capacity.cpus - sum(run.cpus for run in running),
        memory_mb=capacity.memory_mb - sum(run.memory_mb for run in running),
        gpus=[gpu for gpu in capacity.gpus if gpu not in held],
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _are_free(number: int) -> str:
    return "1 is free" if number == 1 else f"{number} are free"
