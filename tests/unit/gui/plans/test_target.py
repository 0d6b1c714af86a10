"""Whose plan is edited, and what an agent's answer to it says."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.agents import AgentsSupport
from mosaic.front.plan_check import PlanProblem
from mosaic.gui.plans.model.target import answer_of, command_of, run_target, why_not_sent
from mosaic.gui.state.notices import Severity
from tests.unit.gui.run_samples import over, record

SUPPORT = AgentsSupport(plan_roles=("learner", "coach"))


def test_agents_are_those_of_the_run_that_take_plans() -> None:
    target = run_target(record(), SUPPORT, (("ann", "coach"), ("world", "server")))
    assert target.agents == (("ann", "coach"),)
    assert target.role_of("ann") == "coach"
    assert target.role_of("learner") == "learner", "roles are names where nobody else has them"
    assert target.role_of("nobody") == "learner"


def test_where_nobody_is_known_agents_are_called_as_their_roles() -> None:
    target = run_target(record(), SUPPORT)
    assert target.agents == (("learner", "learner"), ("coach", "coach"))
    assert run_target(record(), None).agents == () == run_target(record(), None).roles


def test_what_was_accepted_and_what_was_refused() -> None:
    assert command_of("!a.", "ann") == {"command": "plan", "text": "!a.", "to": "ann"}
    fine = answer_of({"ok": True, "text": "learnt"}, "ann")
    assert (fine.text, fine.severity, fine.problems) == ("Accepted: learnt", Severity.GOOD, ())
    assert answer_of({"ok": True}, "ann").text == "Accepted by ann"
    wrong = {"line": 2, "column": 1, "message": "no", "is_error": True}
    refused = answer_of({"ok": False, "text": "wrong", "problems": [wrong]}, "ann")
    assert refused.text == "Refused: wrong" and refused.problems == (PlanProblem(2, 1, "no"),)
    assert "has not answered" in answer_of(None, "ann").text


@pytest.mark.parametrize("told", [{}, {"ok": "yes"}, {"ok": 1, "text": [1]}, {"text": "\n"}])
def test_an_answer_that_is_none_is_a_refusal(told: dict[str, Any]) -> None:
    found = answer_of(told, "ann")
    assert found.severity is Severity.BAD and found.text == "Refused: no reason was given"


def test_the_reason_why_nothing_can_be_sent() -> None:
    assert why_not_sent(None, "ann", "x") == "the run is gone"
    assert why_not_sent(over(), "ann", "x") == "the run is over"
    assert why_not_sent(record(), " ", "x") == "choose an agent"
    assert why_not_sent(record(), "ann", " \n") == "write a plan first"
    assert why_not_sent(record(), "ann", "x") == ""
