"""Who may start, in which order, and what the others are told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.run_config import GpuRequest, Resources
from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.runs.queue import (
    RESERVE_AFTER_S,
    Demand,
    choose,
    fits_machine,
    memory_to_set_aside,
    misfits,
    waiting_reason,
)

MACHINE = Capacity(cpus=4, memory_mb=8000, gpus=(0, 1))
NOW = 1000.0


def run(name: str, cpus: int = 1, memory_mb: int = 1000, **fields: object) -> Demand:
    return replace(Demand(name, cpus, memory_mb, queued_at=NOW), **fields)  # type: ignore[arg-type]


def started(
    queued: list[Demand], in_use: list[Demand] | None = None, now: float = NOW
) -> list[str]:
    return [item.run_id for item in choose(queued, in_use or [], MACHINE, now)]


def test_higher_priority_starts_first_and_then_the_older_run() -> None:
    queued = [
        run("young", 2, created_at=2),
        run("old", 2, created_at=1),
        run("urgent", 2, created_at=3, priority=5),
    ]
    assert started(queued) == ["urgent", "old"]


def test_everything_that_fits_starts_at_once() -> None:
    assert started([run(name, created_at=i) for i, name in enumerate("abcde")]) == list("abcd")


def test_memory_is_a_limit_too() -> None:
    assert started([run("a", memory_mb=6000), run("b", memory_mb=3000)]) == ["a"]


def test_a_run_before_its_retry_time_waits_and_holds_nothing_back() -> None:
    queued = [
        run("retry", 4, not_before=NOW + 10, queued_at=0, created_at=1),
        run("next", created_at=2),
    ]
    assert started(queued) == ["next"]
    assert started(queued, now=NOW + 10) == ["retry"]


def test_small_runs_overtake_a_large_one_at_first() -> None:
    in_use = [run("busy", 2)]
    queued = [run("large", 4, created_at=1), run("small", 1, created_at=2)]
    assert started(queued, in_use) == ["small"]


def test_a_large_run_that_waited_long_enough_is_not_overtaken_any_more() -> None:
    in_use = [run("busy", 2)]
    queued = [run("large", 4, created_at=1), run("small", 1, created_at=2)]
    assert started(queued, in_use, NOW + RESERVE_AFTER_S) == []
    assert started(queued, [], NOW + RESERVE_AFTER_S) == ["large"]


def test_what_the_waiting_run_does_not_need_is_still_given_away() -> None:
    holder = run("holder", 1, gpu_slots=(0, 1))
    queued = [
        run("wants gpus", 1, gpus_requested=2, created_at=1),
        run("cpu only", 2, created_at=2),
    ]
    assert started(queued, [holder], NOW + RESERVE_AFTER_S) == ["cpu only"]


def test_a_large_run_starts_in_the_end_whatever_arrives() -> None:
    """Small runs of 10 s each arrive all the time; the large one must still get its turn."""
    large, now, running = run("large", 4, queued_at=0.0), 0.0, {f"s{i}": 10.0 * i for i in range(4)}
    for number in range(1000):
        now += 1.0
        running = {name: end for name, end in running.items() if end > now}
        fresh = run(f"n{number}", 1, created_at=now, queued_at=now)
        in_use = [run(name) for name in running]
        for name in started([large, fresh], in_use, now):
            if name == "large":
                assert now <= RESERVE_AFTER_S + 40
                return
            running[name] = now + 10.0
    pytest.fail("the large run starved")


def test_gpus_are_handed_out_one_by_one() -> None:
    in_use = [run("busy", gpu_slots=(0,))]
    (placement,) = choose([run("a", gpus_requested=1)], in_use, MACHINE, NOW)
    assert placement.gpu_slots == (1,)


def test_without_any_gpu_an_optional_request_runs_on_the_cpu() -> None:
    machine = Capacity(4, 8000, ())
    (placement,) = choose([run("a", gpus_requested=1)], [], machine, NOW)
    assert placement.gpu_slots == ()


def test_busy_gpus_are_waited_for_even_when_optional() -> None:
    in_use = [run("busy", gpu_slots=(0, 1))]
    wants = run("a", gpus_requested=1)
    assert started([wants], in_use) == []
    assert waiting_reason(wants, in_use, MACHINE, NOW) == "waiting for 1 GPU; 0 are free"


def test_a_run_larger_than_the_machine_never_blocks_the_queue() -> None:
    huge = run("huge", 64, queued_at=0.0, created_at=0.0)
    assert not fits_machine(huge, MACHINE)
    assert started([huge, run("small", created_at=1)]) == ["small"]
    assert (
        waiting_reason(huge, [], MACHINE, NOW) == "the run needs 64 CPUs; this machine has 4 CPUs"
    )


def test_misfits_name_the_field() -> None:
    resources = Resources(5, 9000, GpuRequest(3, mandatory=True))
    assert [misfit.field for misfit in misfits(resources, MACHINE)] == [
        "resources.gpus.requested",
        "resources.cpus",
        "resources.memory_mb",
    ]
    assert misfits(Resources(4, 8000, GpuRequest(3)), MACHINE) == []
    assert misfits(Resources(4, expected_memory_mb=9000), MACHINE) == []


@pytest.mark.parametrize(
    ("resources", "set_aside"),
    [
        (Resources(1, 600), 600),
        (Resources(1, 600, expected_memory_mb=700), 600),
        (Resources(1, expected_memory_mb=700), 700),
        (Resources(1), 512),
        (Resources(1, expected_memory_mb=9000), 8000),
    ],
)
def test_the_limit_is_set_aside_or_what_a_run_without_one_is_expected_to_use(
    resources: Resources, set_aside: int
) -> None:
    assert memory_to_set_aside(resources, 512, MACHINE) == set_aside


@pytest.mark.parametrize(
    ("demand", "in_use", "sentence"),
    [
        (run("a", 2), [run("b", 3)], "waiting for 2 CPUs; 1 is free"),
        (run("a", 1), [run("b", 4)], "waiting for 1 CPU; 0 are free"),
        (run("a", 1, 5000), [run("b", 1, 4000)], "waiting for 5000 MB of memory; 4000 are free"),
        (run("a", not_before=NOW + 12.4), [], "waiting 12 s before the next attempt"),
        (run("a"), [], "waiting for its turn; a run ahead of it is next"),
    ],
)
def test_a_waiting_run_is_told_why(demand: Demand, in_use: list[Demand], sentence: str) -> None:
    assert waiting_reason(demand, in_use, MACHINE, NOW) == sentence


DEMANDS = st.lists(
    st.builds(
        Demand,
        run_id=st.uuids().map(str),
        cpus=st.integers(1, 6),
        memory_mb=st.integers(256, 9000),
        gpus_requested=st.integers(0, 3),
        gpus_mandatory=st.booleans(),
        priority=st.integers(-3, 3),
        created_at=st.floats(0, 100),
        queued_at=st.floats(0, NOW),
        not_before=st.floats(0, 2 * NOW),
    ),
    max_size=8,
)


@given(DEMANDS)
def test_no_placement_ever_exceeds_the_machine(queued: list[Demand]) -> None:
    by_id = {demand.run_id: demand for demand in queued}
    placements = choose(queued, [], MACHINE, NOW)
    placed = [by_id[item.run_id] for item in placements]
    slots = [slot for item in placements for slot in item.gpu_slots]
    assert sum(demand.cpus for demand in placed) <= MACHINE.cpus
    assert sum(demand.memory_mb for demand in placed) <= MACHINE.memory_mb
    assert len(slots) == len(set(slots)) and set(slots) <= set(MACHINE.gpus)
    assert len({item.run_id for item in placements}) == len(placements)
    for item in placements:
        demand = by_id[item.run_id]
        assert demand.not_before <= NOW
        if demand.gpus_mandatory:
            assert len(item.gpu_slots) == demand.gpus_requested
