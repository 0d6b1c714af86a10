"""What people may tell a team while it runs: checked here, before any agent hears of it."""

from __future__ import annotations

from typing import Any

from spade_bdi_rl_worker.agents.plan_check import check_plan, check_term
from spade_bdi_rl_worker.agents.plan_source import PlanProblem
from spade_bdi_rl_worker.agents.protocols import KINDS
from spade_bdi_rl_worker.agents.settings import LEARNER

GIVE_UP = "give_up"
GOALS = (*KINDS, GIVE_UP)
MAX_TEXT = 1_000
Answer = dict[str, Any]


def refused(text: str, problems: list[PlanProblem] | None = None) -> Answer:
    answer: Answer = {"ok": False, "text": text}
    if problems is not None:
        answer["problems"] = [problem.to_dict() for problem in problems]
    return answer


def problem_with(command: dict[str, Any], roles: dict[str, str]) -> Answer | None:
    """Why the command cannot be passed on, or None. `roles`: of all agents, by their names."""
    name = command.get("command")
    if name == "goal":
        return _problem_with_goal(command)
    if name not in ("plan", "tell"):
        return refused(f"{str(name)[:64]!r} is no command for agents; goal, plan and tell are")
    to = command.get("to", LEARNER)
    if to not in roles:
        return refused(f"nobody in this team is called {str(to)[:64]!r}; {', '.join(roles)} are")
    text = command.get("text" if name == "plan" else "belief")
    if not isinstance(text, str) or not text.strip():
        return refused("the plan is empty" if name == "plan" else "the belief is empty")
    problems = check_plan(text, roles[to]) if name == "plan" else check_term(text[: MAX_TEXT + 1])
    if name == "tell" and len(text) > MAX_TEXT:
        return refused(f"a belief has at most {MAX_TEXT} characters")
    errors = [problem for problem in problems if problem.is_error]
    if errors:
        return refused(
            f"the {'plan' if name == 'plan' else 'belief'} is wrong: {errors[0]}", problems
        )
    return None


def _problem_with_goal(command: dict[str, Any]) -> Answer | None:
    kind, target = command.get("kind"), command.get("target", "")
    if kind not in GOALS:
        return refused(f"{str(kind)[:64]!r} is no goal; {', '.join(GOALS)} are")
    if not isinstance(target, str) or len(target) > MAX_TEXT:
        return refused(f"a target is a text of at most {MAX_TEXT} characters")
    if kind == "subgoal" and not target.strip():
        return refused('a subgoal needs a target, such as "row 2, column 3"')
    return None


def passed_on(command: dict[str, Any]) -> dict[str, Any]:
    """What the coach is told: goals are its own to set, the rest it sends."""
    name = command["command"]
    if name == "goal":
        return {"command": "goal", "kind": command["kind"], "target": command.get("target", "")}
    to = command.get("to", LEARNER)
    performative, text = (
        ("tellHow", command["text"]) if name == "plan" else ("tell", command["belief"])
    )
    return {"command": "send", "to": to, "performative": performative, "text": text}
