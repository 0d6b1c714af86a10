"""Rows of what agents believe, want and say."""

from __future__ import annotations

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
from mosaic.gui.agents.model.mind import MARKED_S, Minds, MindView
from mosaic.gui.agents.model.words import (
    agent_title,
    belief_rows,
    belief_status,
    confidence_words,
    goal_rows,
    goal_status,
    happening_rows,
    headline,
    message_rows,
    message_status,
    short_numbers,
    snapshot_words,
)
from mosaic.gui.tabs.model import Tone
from tests.unit.gui.agent_samples import some_values

NOW = 1_700_000_000.0


def mind(*lines: TraceLine) -> MindView:
    minds = Minds()
    minds.apply(lines)
    return minds.views()[0]


def belief(text: str, at: float = NOW, is_added: bool = True, source: str = "self") -> BeliefLine:
    return BeliefLine(at, "learner", is_added, text, source)


def test_what_is_new_is_marked_and_what_is_gone_is_struck_for_a_while() -> None:
    view = mind(
        belief("old(1)", NOW - 100),
        belief("new(1)"),
        belief("gone(1)", NOW - 50),
        belief("gone(1)", NOW, is_added=False),
    )
    rows = belief_rows(view, "", NOW + 1)
    assert [(row.cells[0], row.cells[1], row.tone) for row in rows] == [
        ("\N{MINUS SIGN}", "gone(1)", Tone.GONE),
        ("+", "new(1)", Tone.GOOD),
        ("", "old(1)", Tone.PLAIN),
    ]
    rows = belief_rows(view, "", NOW + MARKED_S)
    assert [(row.cells[1], row.tone) for row in rows] == [
        ("new(1)", Tone.PLAIN),
        ("old(1)", Tone.PLAIN),
    ]
    assert belief_status(view, 2) == "2 beliefs"


def test_a_belief_that_changes_stays_in_its_row() -> None:
    first = belief_rows(mind(belief("a(1)"), belief("n(1)"), belief("n(2)")), "", NOW)
    second = belief_rows(mind(belief("a(9)"), belief("n(5)"), belief("n(7)")), "", NOW)
    assert [row.key for row in first] == [row.key for row in second]
    assert len({row.key for row in first}) == 3


def test_moments_that_never_were_are_blank_and_mark_nothing() -> None:
    for at in (0.0, -5.0, 1e300, NOW + 1000):
        row = belief_rows(mind(belief("a", at)), "", NOW)[0]
        assert row.tone is Tone.PLAIN
    assert belief_rows(mind(belief("a", 1e300)), "", NOW)[0].cells[3] == ""


def test_rows_are_found_by_what_they_say_in_whichever_case() -> None:
    view = mind(belief("Demand(0.7)", source="coach"), belief("asked(0)"))
    assert [row.cells[1] for row in belief_rows(view, " demand", NOW)] == ["Demand(0.7)"]
    assert [row.cells[1] for row in belief_rows(view, "COACH", NOW)] == ["Demand(0.7)"]
    assert belief_status(view, 1) == "1 of 2 beliefs"


def test_numbers_have_as_many_digits_as_anybody_reads() -> None:
    assert short_numbers("demand(0.9999999999999999)") == "demand(1)"
    assert short_numbers("p(100,-0.123456789,0.25)") == "p(100,-0.1235,0.25)"
    assert short_numbers("v1.234567.8 x0.123456") == "v1.234567.8 x0.123456"
    row = belief_rows(mind(belief("confidence(0.98699305)")), "", NOW)[0]
    assert (row.cells[1], row.help) == ("confidence(0.987)", "confidence(0.98699305)")


def test_goals_are_below_and_behind_those_they_serve() -> None:
    view = mind(
        GoalLine(NOW - 60, "learner", "added", "live"),
        PlanLine(NOW, "learner", "live", "+!live"),
        GoalLine(NOW, "learner", "added", "explore"),
    )
    rows = goal_rows(view, "", NOW + 1)
    assert [row.cells for row in rows] == [("", "live", "live"), ("+", "  › explore", "")]
    assert goal_status(view) == "0 goals achieved"
    view = mind(belief("a"), IntentionLine(NOW, "learner", "start", "live"), SkippedLine(NOW, 1234))
    assert goal_status(view) == (
        "0 goals achieved · carries out live · 1,234 lines of the trace were left out"
    )


def test_notes_and_failures_are_told_newest_first() -> None:
    view = mind(NoteLine(NOW, "learner", "hello"), GoalLine(NOW, "learner", "failed", "choose"))
    rows = happening_rows(view, "")
    assert [row.cells[1:] for row in rows] == [("goal failed", "choose"), ("note", "hello")]
    assert rows[0].tone is Tone.BAD


def test_messages_say_from_whom_to_whom() -> None:
    view = mind(MessageLine(NOW, "learner", True, "coach", "achieve", "<b>go</b>"))
    rows = message_rows(view, "", NOW + 60)
    assert rows[0].cells[1:] == ("from coach", "achieve", "<b>go</b>")
    assert rows[0].help == "coach → learner, achieve: <b>go</b>"
    assert message_rows(view, "nobody", NOW) == []
    assert message_status(view, 0) == "0 of 1 message"


def test_a_line_says_goal_plan_and_confidence() -> None:
    view = mind(
        StateLine(
            NOW,
            "learner",
            "learner",
            (("confidence(0.834)", "percept"),),
            (("choose", "otherwise_explore"), ("explore", "+!explore (line 91)")),
        )
    )
    assert headline(view) == "explore · plan otherwise_explore"
    assert confidence_words(view) == "confidence 83 %"
    assert confidence_words(mind(belief("a"))) == ""
    assert headline(mind(belief("a"))) == "no goal"
    assert agent_title(view) == "learner"
    assert agent_title(mind(StateLine(1, "scout", "observer", (), ()))) == "scout (observer)"


def test_snapshots_say_after_how_many_episodes() -> None:
    snapshots = [some_values((1.0,), episodes=1200), some_values((1.0,), episodes=1300)]
    assert snapshot_words(snapshots, 0) == "after 1,200 episodes"
    assert snapshot_words(snapshots, 2) == ""
