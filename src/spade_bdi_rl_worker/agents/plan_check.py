"""Checks AgentSpeak before anything runs: every problem with line, column and a sentence.

    python -m spade_bdi_rl_worker.agents.plan_check [--role coach] < plan.asl

prints one JSON object: {"ok": false, "problems": [{"line": 3, "column": 7, "message": …}]}. The
window asks this way, since its own environment has no agentspeak.
"""

from __future__ import annotations

import argparse
import json
import sys

from spade_bdi_rl_worker.agents.plan_actions import ROLE_ACTIONS, actions_for_checking
from spade_bdi_rl_worker.agents.plan_source import PlanError, PlanProblem, parse, parse_term


def check_plan(text: str, role: str = "learner") -> list[PlanProblem]:
    """All that is wrong with the plan, and what looks doubtful; nothing if it is fine."""
    try:
        return parse(text, actions_for_checking(role)).warnings
    except PlanError as error:
        return error.problems


def check_term(text: str) -> list[PlanProblem]:
    """The same for the content of a message."""
    try:
        parse_term(text)
    except PlanError as error:
        return error.problems
    return []


def main() -> int:
    arguments = argparse.ArgumentParser(description="Checks AgentSpeak that comes on stdin.")
    arguments.add_argument("--role", choices=sorted(ROLE_ACTIONS), default="learner")
    role = arguments.parse_args().role
    problems = check_plan(sys.stdin.read(), role)
    is_fine = not any(problem.is_error for problem in problems)
    print(json.dumps({"ok": is_fine, "problems": [problem.to_dict() for problem in problems]}))
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
