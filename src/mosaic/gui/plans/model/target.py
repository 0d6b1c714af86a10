"""PlanTarget: whose plan is edited, and what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.agents import AgentsSupport
from mosaic.contracts.run_record import RunRecord
from mosaic.front.plan_check import PlanProblem, read_problems
from mosaic.gui.state.notices import Notice, Severity

# Agents have names, and a role each; as (name, role).
Agents = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class PlanTarget:
    """A file that a form names, or the agents of a run."""

    title: str
    worker: str
    role: str = ""
    template: str = ""  # what a new plan may begin with
    run_id: str = ""
    agents: tuple[tuple[str, str], ...] = ()
    roles: tuple[str, ...] = ()  # that take plans

    @property
    def is_of_run(self) -> bool:
        return bool(self.run_id)

    def role_of(self, agent: str) -> str:
        """An agent that nobody has heard of is checked as the first one."""
        known = dict(self.agents)
        if agent in known:
            return known[agent]
        return agent if agent in self.roles else self.role


def run_target(record: RunRecord, support: AgentsSupport | None, agents: Agents = ()) -> PlanTarget:
    """Where it is not known who is in the team, agents are called as their roles are."""
    roles = support.plan_roles if support is not None else ()
    known = tuple((name, role) for name, role in agents if role in roles or not roles)
    return PlanTarget(
        f"Plan for {record.run_name}",
        record.worker,
        role=roles[0] if roles else "",
        run_id=record.run_id,
        agents=known or tuple((role, role) for role in roles),
        roles=roles,
    )


def command_of(text: str, agent: str) -> dict[str, Any]:
    return {"command": "plan", "text": text, "to": agent}


@dataclass(frozen=True)
class Answer:
    """What came of a plan that was sent."""

    text: str
    severity: Severity
    problems: tuple[PlanProblem, ...] = ()

    @property
    def notice(self) -> Notice:
        return Notice(self.text, self.severity)


def answer_of(told: dict[str, Any] | None, agent: str) -> Answer:
    if told is None:
        return Answer(f"Sent to {agent}, who has not answered", Severity.INFO)
    words = told.get("text")
    text = " ".join(words.split())[:500] if isinstance(words, str) else ""
    if told.get("ok") is True:
        return Answer(f"Accepted: {text}" if text else f"Accepted by {agent}", Severity.GOOD)
    return Answer(f"Refused: {text or 'no reason was given'}", Severity.BAD, read_problems(told))


def why_not_sent(record: RunRecord | None, agent: str, text: str) -> str:
    """Empty where it can be sent."""
    if record is None:
        return "the run is gone"
    if record.is_over:
        return "the run is over"
    if not agent.strip():
        return "choose an agent"
    return "" if text.strip() else "write a plan first"
