"""Plans are checked with line and column, by the interpreter that runs them."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.integration.bdi.bundle_python import (
    bundle_python,
    command_for,
    environment,
    run_program,
)
from tests.waiting import PATIENCE_S

BROKEN = {
    "!live.\n+!live <- .foo(1); !!live.": "line 2, column 11: no such action '.foo/1'",
    "+!a : b(X <- c.": "line 1, column 11: expected ')'",
    "+!a <-\n\t\t.note(x) ; )": "line 2, column 14: expected term, got ')'",
    '{ include("x") }': "line 1, column 3: a plan cannot include files",
    "+!x <- ?y": "line 1, column 9: unexpected end of file",
    '+!x <- "a\\x".': "line 1, column 8: ",
    "x(" * 900: "this is nested too deeply",
    "!begin.": "line 1, column 2: 'begin' is a word of AgentSpeak and cannot be a name",
    "!Live.": "line 1, column 2: expected a name, which begins with a small letter, got 'Live'",
    "+!a <- .send(x, tell).": "line 1, column 8: no such action '.send/2'",
    "+!a <- !b.": "line 1, column 9: no plan is for the goal !b/0",
    "+!a <- .note($).": "line 1, column 14: illegal character '$'",
    "+!a <- .control_flow.": "no such action '.control_flow/0'",
}
FINE = [
    "",
    "// nothing\n",
    "+!a : x & not y <- .note(a); -+b(1).",
    "@l +x(_) <- for (y(Z)) { -y(Z) }.",
]


def test_every_goal_that_is_told_ends_once() -> None:
    told = run_program("goal_ends")
    assert len(told) == 6
    for name, life in told.items():
        begun = [text.partition("(")[0] for event, text in life["goals"] if event == "added"]
        ended = [text.partition("(")[0] for event, text in life["goals"] if event != "added"]
        assert begun and sorted(begun) == sorted(ended), name
        assert life["left"] == [], name
    assert told["achieved"]["goals"][2:] == [["achieved", "b(3)"], ["achieved", "a"]]
    assert told["failed_and_handled"]["beliefs"] == ["handled"]
    assert {event for event, _ in told["failed"]["goals"]} == {"added", "failed"}
    waiting = told["dropped_with_what_is_within"]
    assert [goal for goal, _ in waiting["within"]] == ["a", "b", "c"]
    assert all(plan for _, plan in waiting["within"])
    assert waiting["goals"][3:] == [["dropped", "c"], ["dropped", "b"], ["dropped", "a"]]


def test_every_problem_has_a_place_and_a_sentence() -> None:
    same = ['goal(subgoal, "row 2, column 3")', 'say("é \\"so\\" \\\\")', "x(-1.5)"]
    request = {
        "plans": [*BROKEN, *FINE],
        "terms": ["x(1)", "Not(1)", "x(1) y", "x(", '"text"'],
        "same": same,
    }
    done = subprocess.run(
        command_for("plan_cases"),
        input=json.dumps(request),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["shipped"] == {"learner": [], "coach": [], "observer": []}
    for expected, problems in zip(BROKEN.values(), told["plans"], strict=False):
        assert any(expected in problem for problem in problems), (expected, problems)
    assert told["plans"][len(BROKEN) :] == [[]] * len(FINE)
    assert told["terms"][0] == [] and all(told["terms"][1:])
    assert told["same"][0] == same[0] and told["values"][1] == 'é "so" \\'


@pytest.mark.parametrize(
    ("text", "status"), [("+!a <- .note(x).", 0), ("+!a <- .note(x", 1)], ids=["fine", "broken"]
)
def test_the_program_tells_the_window(text: str, status: int) -> None:
    command = [str(bundle_python()), "-m", "spade_bdi_rl_worker.agents.plan_check"]
    done = subprocess.run(
        [*command, "--role", "coach"],
        input=text,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    told = json.loads(done.stdout)
    assert done.returncode == status and told["ok"] is (status == 0)
    assert [problem["is_error"] for problem in told["problems"]] == [True] * status
