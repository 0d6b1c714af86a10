"""What agents believe and want, made of the lines of their trace, however strange."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.agents import (
    BeliefLine,
    GoalLine,
    IntentionLine,
    MessageLine,
    NoteLine,
    PlanLine,
    SkippedLine,
    StateLine,
    TraceLine,
)
from mosaic.gui.agents.model import mind
from mosaic.gui.agents.model.mind import Goal, Minds, MindView, without_variables


def after(*lines: TraceLine) -> MindView:
    minds = Minds()
    minds.apply(lines)
    return minds.views()[0]


def believes(text: str, at: float = 1.0, source: str = "self") -> BeliefLine:
    return BeliefLine(at, "learner", True, text, source)


def doubts(text: str, at: float = 2.0, source: str = "self") -> BeliefLine:
    return BeliefLine(at, "learner", False, text, source)


def known(view: MindView) -> list[tuple[str, bool]]:
    return [(belief.text, belief.is_gone) for belief in view.beliefs]


def test_beliefs_come_and_go_by_their_text_and_source() -> None:
    view = after(
        believes("demand(0.7)"),
        believes("demand(0.7)", source="coach"),
        believes("asked(0)"),
        doubts("demand(0.7)"),
        doubts("never(was)"),
    )
    assert [(one.text, one.source, one.is_gone) for one in view.beliefs] == [
        ("asked(0)", "self", False),
        ("demand(0.7)", "coach", False),
        ("demand(0.7)", "self", True),
    ]


def test_a_counter_leaves_nothing_behind_it() -> None:
    lines: list[TraceLine] = [believes("episodes(0)")]
    for number in range(1000):
        lines += [doubts(f"episodes({number})"), believes(f"episodes({number + 1})")]
    assert known(after(*lines)) == [("episodes(1000)", False)]
    assert known(after(*lines, doubts("episodes(1000)"))) == [("episodes(1000)", True)]


def test_what_is_written_anew_and_says_the_same_has_not_changed() -> None:
    view = after(believes("missed(0)", 1.0), doubts("missed(0)", 9.0), believes("missed(0)", 9.1))
    assert [(one.text, one.at) for one in view.beliefs] == [("missed(0)", 1.0)]
    view = after(believes("missed(0)", 1.0), doubts("missed(0)", 9.0), believes("missed(0)", 99.0))
    assert [(one.text, one.at) for one in view.beliefs] == [("missed(0)", 99.0)]


def test_a_state_is_all_that_counts_and_keeps_the_times_of_what_was_known() -> None:
    state = StateLine(
        9.0, "learner", "learner", (("b", "self"), ("c", "coach")), (("live", "live"),), 7
    )
    view = after(believes("a"), believes("b", at=3.0), GoalLine(1, "learner", "added", "x"), state)
    assert [(one.text, one.at) for one in view.beliefs] == [("b", 3.0), ("c", None)]
    assert view.goals == (Goal("live", "live", None),)
    assert (view.role, view.left_out) == ("learner", 7)
    later = StateLine(12.0, "learner", "learner", (("b", "self"), ("d", "self")), ())
    again = after(state, later)
    assert [(one.text, one.at) for one in again.beliefs] == [("b", None), ("d", 12.0)]


def test_goals_lie_inside_one_another_with_the_plans_chosen_for_them() -> None:
    lines: list[TraceLine] = [
        GoalLine(1, "learner", "added", "live"),
        PlanLine(1, "learner", "live", "+!live"),
        GoalLine(2, "learner", "added", "choose"),
        PlanLine(2, "learner", "follow", "+!choose"),
        PlanLine(2, "learner", "praised", "+praise(R)"),
        GoalLine(3, "learner", "added", "batch_size(_X_ac1_7fc4741796d0)"),
        PlanLine(3, "learner", "+!batch_size(_Y_1) (line 95)", "+!batch_size(N)"),
    ]
    view = after(*lines)
    assert [(goal.text, goal.plan) for goal in view.goals] == [
        ("live", "live"),
        ("choose", "follow"),
        ("batch_size(_)", "+!batch_size(_) (line 95)"),
    ]
    assert (view.goal, view.plan) == ("batch_size(_)", "follow")
    view = after(*lines, GoalLine(4, "learner", "achieved", "batch_size(50)"))
    assert (view.goal, view.achieved) == ("choose", 1)
    view = after(*lines, GoalLine(4, "learner", "failed", "choose"))
    assert [goal.text for goal in view.goals] == ["live", "batch_size(_)"]
    assert [(one.what, one.text) for one in view.happenings] == [("goal failed", "choose")]


def test_intentions_are_counted_and_failures_told() -> None:
    view = after(
        IntentionLine(1, "learner", "start", "live"),
        IntentionLine(1, "learner", "start", "live"),
        IntentionLine(2, "learner", "end", "live"),
        IntentionLine(2, "learner", "start", "praised"),
        IntentionLine(3, "learner", "fail", "praised"),
        IntentionLine(3, "learner", "end", "never began"),
    )
    assert view.intentions == ("live",)
    assert [one.what for one in view.happenings] == ["plan failed"]


def test_messages_say_who_told_whom() -> None:
    minds = Minds()
    minds.apply(
        [
            MessageLine(1, "learner", False, "coach", "tell", "stuck(100,0)"),
            MessageLine(2, "coach", True, "learner", "tell", "stuck(100,0)"),
            NoteLine(3, "coach", "patience"),
        ]
    )
    learner, coach = minds.views()
    assert [(one.sender, one.receiver) for one in learner.messages] == [("learner", "coach")]
    assert [(one.sender, one.receiver) for one in coach.messages] == [("learner", "coach")]
    assert [one.text for one in coach.happenings] == ["patience"]


def test_lines_that_were_left_out_are_told_of_every_agent() -> None:
    minds = Minds()
    minds.apply([believes("a"), BeliefLine(1, "coach", True, "b", ""), SkippedLine(2, 1234)])
    minds.apply([SkippedLine(3, 1)])
    assert [view.skipped for view in minds.views()] == [1235, 1235]


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("confidence(0.83)", 0.83),
        ("confidence(1)", 1.0),
        ("confidence(7)", None),
        ("confidence(nan)", None),
        ("confidence(high)", None),
        ("confidence", None),
        ("confident(0.5)", None),
    ],
)
def test_confidence_is_what_it_believes_about_itself(text: str, confidence: float | None) -> None:
    assert after(believes(text)).confidence == confidence
    assert after(believes(text), doubts(text)).confidence is None


def test_what_it_says_it_pursues_is_its_goal() -> None:
    live = GoalLine(1, "learner", "added", "live")
    pursuing = believes('pursuing(subgoal("row 4"))')
    assert after(live).goal == "live"
    assert after(live, pursuing).goal == 'subgoal("row 4")'
    assert after(live, pursuing, doubts(pursuing.text)).goal == "live"
    assert after(live, believes("pursuing")).goal == "live"


def test_nothing_grows_without_end() -> None:
    lines: list[TraceLine] = []
    for number in range(5000):
        lines += [
            believes(f"b{number}(x)"),
            GoalLine(1, "learner", "added", f"g{number}"),
            IntentionLine(1, "learner", "start", f"i{number}"),
            MessageLine(1, "learner", True, "coach", "tell", f"m{number}"),
            NoteLine(1, "learner", f"n{number}"),
        ]
    gone: list[TraceLine] = [doubts(f"b{number}(x)") for number in range(5000)]
    view = after(*lines)
    assert len(view.beliefs) == mind.MOST_BELIEFS
    assert view.left_out == 5000 - mind.MOST_BELIEFS
    assert len(view.goals) == mind.MOST_GOALS
    assert view.goal == "g4999"
    assert len(view.intentions) == mind.MOST_INTENTIONS
    assert len(view.messages) == mind.MOST_MESSAGES
    assert view.messages[0].text == "m4999"
    assert len(view.happenings) == mind.MOST_HAPPENINGS
    assert len(after(*lines, *gone).beliefs) < 100


def test_of_a_crowd_the_first_are_shown() -> None:
    minds = Minds()
    minds.apply(NoteLine(1, f"agent {number}", "hello") for number in range(200))
    assert len(minds.views()) == mind.MOST_AGENTS
    assert minds.has_too_many


def test_a_line_of_nobody_is_no_agent() -> None:
    minds = Minds()
    minds.apply([NoteLine(1, " \n\u202e", "hello")])
    assert minds.views() == ()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("batch_size(_X_ac1_7f)", "batch_size(_)"),
        ("a_b(_, _Y)", "a_b(_, _)"),
        ("evil\u202egoal\x1b[2J\nline", "evil goal [2J line"),
        ("<b>bold</b>", "<b>bold</b>"),
    ],
)
def test_names_of_variables_and_control_characters_are_not_shown(text: str, shown: str) -> None:
    assert without_variables(text) == shown


def test_an_agent_that_states_itself_again_and_again_stays_one() -> None:
    state: Any = StateLine(1.0, "learner", "learner", (("a", "self"),) * 5000, (("g", ""),) * 5000)
    view = after(*[state] * 50)
    assert known(view) == [("a", False)]
    assert len(view.goals) == mind.MOST_GOALS
