"""What a person can tell the agents of a run, and what they answer."""

from __future__ import annotations

from typing import Any, NamedTuple

from mosaic.contracts.agents import AgentsSupport
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import ConfigError
from mosaic.gui.tabs.model import object_in
from mosaic.gui.value_map.model import plain

TELL = "tell"
_LONGEST = 300


class Reply(NamedTuple):
    text: str
    is_good: bool


def support_of(record: RunRecord) -> AgentsSupport | None:
    """None where nobody listens: it is over, has not begun, or its agents take nothing."""
    said = object_in(record.capabilities, "agents")
    if not said or record.is_over or record.started_at is None:
        return None
    try:
        return AgentsSupport.from_dict(said)
    except ConfigError:
        return None


def plain_goals(support: AgentsSupport) -> tuple[str, ...]:
    """Those that need no target."""
    return tuple(kind for kind in support.goals if kind != support.cell_goal)


def line_kinds(support: AgentsSupport) -> tuple[str, ...]:
    """What the line of text may be: a belief, or the target of the goal that has one."""
    return (TELL, support.cell_goal) if support.cell_goal else (TELL,)


def line_hint(kind: str) -> str:
    return "a belief: demand(0.9)" if kind == TELL else "a place: row 2, column 3"


def goal_command(kind: str, target: str = "") -> dict[str, Any]:
    command = {"command": "goal", "kind": kind}
    return {**command, "target": target} if target else command


def line_command(kind: str, text: str, agent: str) -> dict[str, Any]:
    """What was typed; a belief is for the agent that is looked at."""
    if kind != TELL:
        return goal_command(kind, text)
    command = {"command": "tell", "belief": text}
    return {**command, "to": agent} if agent else command


def command_words(command: dict[str, Any]) -> str:
    """`subgoal row 2, column 3`, `tell demand(0.9)`."""
    if command["command"] == TELL:
        return f"tell {command['belief']}"
    return f"{command['kind']} {command.get('target', '')}".strip()


def reply_to(command: dict[str, Any], answer: dict[str, Any] | None) -> Reply:
    asked = plain(command_words(command))[:_LONGEST]
    if answer is None:
        return Reply(f"{asked}: sent; the agents have not answered yet", True)
    is_good = answer.get("ok") is True
    said = answer.get("text")
    text = plain(said)[:_LONGEST] if isinstance(said, str) else ""
    return Reply(f"{asked}: {text or ('done' if is_good else 'refused')}", is_good)
