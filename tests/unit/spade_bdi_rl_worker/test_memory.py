"""Beliefs of a checkpoint take the place of those in a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import ConfigError
from spade_bdi_rl_worker.agents.settings import TeamSettings
from spade_bdi_rl_worker.memory import with_beliefs, with_memory

PLAN = """// A plan.
demand(0.7).
 missed(0) .
big(X) :- demand(X) & X > 0.5.
!live.
+!live <-
    -+missed(1);
    !!live.
+demand(R) <- .note("x").
"""


def test_beliefs_are_replaced_and_nothing_else() -> None:
    found = with_beliefs(PLAN, ["demand(0.9)", 'seen("a. b")[source(coach)]'])
    lines = found.split("\n")
    assert lines[:3] == ["// A plan.", "", ""]
    assert lines[3:9] == PLAN.split("\n")[3:9]
    assert lines[-3:] == ["demand(0.9).", 'seen("a. b")[source(coach)].', ""]


def test_agents_without_memory_keep_their_plans(tmp_path: Path) -> None:
    settings = TeamSettings(tmp_path)
    assert with_memory(settings, None).learner_plan == settings.learner_plan
    found = with_memory(settings, {"learner": ["demand(0.8)"]})
    assert "demand(0.8)." in found.learner_plan and "demand(0.7)." not in found.learner_plan
    [coach] = found.companions
    assert found.plan_of(coach) == settings.plan_of(coach)


@pytest.mark.parametrize(
    "memory",
    [
        {"learner": "text"},
        {"learner": [1]},
        {"learner": ["x(1). !evil"]},
        {"learner": ["x(1) <- .finish(1)"]},
        {"learner": ["x(1). +!live <- .finish(1)"]},
        {"learner": ['x("a\\")(1)']},
        {"learner": ["x(1]"]},
        {"learner": ["x(1) // y"]},
        {"learner": ["a\n!b"]},
        {"learner": ["a(\n)"]},
        {"learner": ["a(" + "x" * 3000 + ")"]},
    ],
)
def test_what_is_no_belief_never_becomes_a_plan(tmp_path: Path, memory: Any) -> None:
    with pytest.raises(ConfigError):
        with_memory(TeamSettings(tmp_path), memory)
