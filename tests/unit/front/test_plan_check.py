"""What a checker of plans may answer, as it is understood. With real programs:
tests/integration/test_plan_checking.py."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.front.plan_check import MOST_PROBLEMS, PlanChecker, PlanProblem, read_problems


def problem(**changes: Any) -> dict[str, Any]:
    return {"line": 2, "column": 3, "message": "no such action", "is_error": True, **changes}


def test_problems_come_in_the_order_of_the_text() -> None:
    told = {"problems": [problem(line=9), problem(line=2, is_error=False), problem(line=0)]}
    assert read_problems(told) == (
        PlanProblem(0, 0, "no such action"),
        PlanProblem(2, 3, "no such action", False),
        PlanProblem(9, 3, "no such action"),
    )


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        "problems",
        {},
        {"problems": None},
        {"problems": {"line": 1}},
        {"problems": [None, 5, "x", [], {}, {"message": 5}, {"message": "  \n "}]},
    ],
)
def test_what_is_no_problem_is_left_out(told: Any) -> None:
    assert read_problems(told) == ()


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        (-5, 3, (0, 0)),
        (True, 1, (0, 0)),
        ("3", 1, (0, 0)),
        (3, -1, (3, 0)),
        (3, None, (3, 0)),
        (10**40, 10**40, (10_000_000, 10_000_000)),
        (1.5, 2, (0, 0)),
    ],
)
def test_places_are_counts(line: Any, column: Any, expected: tuple[int, int]) -> None:
    (found,) = read_problems({"problems": [problem(line=line, column=column)]})
    assert (found.line, found.column) == expected


def test_messages_are_short_lines_that_steer_nothing() -> None:
    (found,) = read_problems({"problems": [problem(message="a\x1b[31m\nb\0" + "c" * 9000)]})
    assert found.message.startswith("a\ufffd[31m b\ufffdc") and len(found.message) <= 500
    assert found.message.isprintable()


def test_a_flood_of_problems_is_cut() -> None:
    found = read_problems({"problems": [problem(line=line) for line in range(5000)]})
    assert len(found) == MOST_PROBLEMS


def test_a_checker_is_told_the_role_where_there_is_one() -> None:
    checker = PlanChecker("/venv/bin/python", "worker.plans")
    assert checker.command("") == ["/venv/bin/python", "-m", "worker.plans"]
    assert checker.command("coach")[-2:] == ["--role", "coach"]
