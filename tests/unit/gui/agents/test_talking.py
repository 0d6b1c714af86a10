"""What a person can tell agents, and how the answer reads."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.gui.agents.model.talking import (
    goal_command,
    line_command,
    line_kinds,
    plain_goals,
    reply_to,
    support_of,
)
from tests.unit.gui.run_samples import over, record

SUPPORT = {"goals": ["explore", "subgoal", "give_up"], "cell_goal": "subgoal"}


def test_people_talk_to_agents_of_a_run_that_goes_on() -> None:
    live = record(capabilities={"agents": SUPPORT})
    support = support_of(live)
    assert support is not None
    assert plain_goals(support) == ("explore", "give_up")
    assert line_kinds(support) == ("tell", "subgoal")


@pytest.mark.parametrize(
    "run",
    [
        over(capabilities={"agents": SUPPORT}),
        record(capabilities={"agents": SUPPORT}, started_at=None),
        record(),
        record(capabilities={"agents": None}),
        record(capabilities={"agents": "yes"}),
        record(capabilities={"agents": {"goals": 3}}),
    ],
)
def test_where_nobody_listens_nothing_can_be_told(run: Any) -> None:
    assert support_of(run) is None


def test_commands_are_those_of_the_command_line() -> None:
    assert goal_command("explore") == {"command": "goal", "kind": "explore"}
    assert line_command("subgoal", "row 2, column 3", "coach") == {
        "command": "goal",
        "kind": "subgoal",
        "target": "row 2, column 3",
    }
    assert line_command("tell", "demand(0.9)", "coach") == {
        "command": "tell",
        "belief": "demand(0.9)",
        "to": "coach",
    }


@pytest.mark.parametrize(
    ("answer", "text", "is_good"),
    [
        ({"ok": True, "text": "the coach passes it on"}, "the coach passes it on", True),
        ({"ok": False, "text": "no such\nstate"}, "no such state", False),
        ({"ok": True}, "done", True),
        ({"ok": "yes", "text": 3}, "refused", False),
        (None, "sent; the agents have not answered yet", True),
    ],
)
def test_an_answer_names_what_was_asked(answer: Any, text: str, is_good: bool) -> None:
    reply = reply_to(goal_command("subgoal", "row 2"), answer)
    assert reply == (f"subgoal row 2: {text}", is_good)
    assert len(reply_to(goal_command("x" * 9999), {"ok": True, "text": "y" * 9999}).text) < 700
