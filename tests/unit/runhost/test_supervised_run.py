"""A stop is asked for once or often; it only ever comes sooner, and the first reason stays."""

from __future__ import annotations

import pytest

from mosaic.runhost.run_processes import Usage, exceeded_limit
from mosaic.runhost.supervised_run import StopPlan


def test_nothing_is_due_before_a_stop() -> None:
    plan = StopPlan()
    assert not plan.is_stopping
    assert not plan.is_due(1e12)


def test_only_the_first_request_is_passed_on() -> None:
    plan = StopPlan()
    assert plan.request("user_cancel", 10, now=100)
    assert not plan.request("time_limit", 10, now=101)
    assert plan.reason == "user_cancel"


def test_second_request_shortens_but_never_lengthens() -> None:
    plan = StopPlan()
    plan.request("user_cancel", 10, now=100)
    plan.request("user_cancel", 60, now=101)
    assert plan.deadline == 110
    plan.request("user_cancel", 1, now=102)
    assert plan.deadline == 103
    assert plan.is_due(103)
    assert not plan.is_due(102.9)


@pytest.mark.parametrize(
    ("usage", "reason"),
    [
        (Usage(processes=5, memory_mb=100), ""),
        (Usage(processes=5, memory_mb=100.1), "memory_limit"),
        (Usage(processes=6, memory_mb=1), "process_limit"),
        (Usage(processes=6, memory_mb=101), "memory_limit"),
    ],
)
def test_limits_name_what_was_exceeded(usage: Usage, reason: str) -> None:
    assert exceeded_limit(usage, memory_mb=100, max_processes=5) == reason


def test_without_a_memory_limit_any_amount_is_fine() -> None:
    assert exceeded_limit(Usage(processes=1, memory_mb=1e9), None, 5) == ""
