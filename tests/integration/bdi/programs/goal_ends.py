"""Prints what is told of goals that end in every way, and which are left at the end."""

from __future__ import annotations

import json
from typing import Any

from agentspeak import GoalType, Trigger

from spade_bdi_rl_worker.agents.plan_actions import PlanActions
from spade_bdi_rl_worker.agents.plan_source import parse_term
from spade_bdi_rl_worker.agents.reasoner import Reasoner
from spade_bdi_rl_worker.inner_life import InnerLife
from spade_bdi_rl_worker.trace_file import TraceFile

PLANS = {
    "achieved": "!a. +!a <- !b(X); +found(X). +!b(3).",
    "no_plan_for_what_is_within": "!a. +!a <- !b. +!b : never.",
    "failed_and_handled": "!a. +!a <- !b; +after. -!a <- +handled. +!b <- !c. +!c <- .fail.",
    "failed": "!a. +!a <- !b. +!b <- .fail.",
    "dropped_with_what_is_within": "!a. +!a <- !b. +!b <- !c. +!c <- .wait(100000).",
    "no_plan_at_all": "+!a : never.",
}


def told_of(plan: str) -> dict[str, Any]:
    goals: list[list[str]] = []
    life = InnerLife(TraceFile(None), lambda text: None, {})
    trace = life.trace_of("learner")
    own = trace.goal

    def keep(event: Any, text: str) -> None:
        goals.append([event, text])
        own(event, text)

    trace.goal = keep  # type: ignore[method-assign]
    reasoner = Reasoner("learner", PlanActions(), trace)
    reasoner.learn_text(plan)
    if "!a." not in plan:
        reasoner.post(Trigger.addition, GoalType.achievement, parse_term("a"))
    for _ in range(1000):
        if not reasoner.step():
            break
    within = dict(life.states()).get("learner", {}).get("goals", [])
    reasoner.drop(parse_term("a"))
    left = dict(life.states()).get("learner", {}).get("goals", [])
    return {"goals": goals, "within": within, "left": left, "beliefs": reasoner.believed()}


if __name__ == "__main__":
    print(json.dumps({name: told_of(plan) for name, plan in PLANS.items()}))
