"""What is shown of an agent's mind at each step of an episode, whatever its worker has told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from mosaic.contracts.agents import MapLine, ValuesLine
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.gui.replay.model.mind import (
    ENDED,
    NOTHING_TOLD,
    EpisodeMind,
    actions_of,
    breakable,
    ended_at,
    snapshot_at,
    snapshot_text,
)
from mosaic.gui.replay.model.strips import confidence_strip, values_of


def step_of(index: int, told: Any = None, **changes: Any) -> TrainingStep:
    fields = {"action": 1, "observation": index, "agent_id": "learner", **changes}
    return TrainingStep(
        run_id="RUN",
        worker_id="worker",
        seq=index,
        timestamp=0.0,
        episode_index=3,
        step_index=index,
        reward=0.0,
        terminated=False,
        truncated=False,
        info=None if told is None else {"mind": told},
        **fields,
    )


def episode_of(metadata: Any = None) -> EpisodeSummary:
    return EpisodeSummary("RUN", "learner", "worker", 1, 0.0, 3, 1.0, 10, True, False, 5, metadata)


def told_mind(*told: Any, **changes: Any) -> EpisodeMind:
    mind = EpisodeMind.of([step_of(index, item, **changes) for index, item in enumerate(told)])
    assert mind is not None
    return mind


@pytest.mark.parametrize("info", [None, 5, [], {"mind": "explore"}, {"mind": None}, {"loss": 1}])
def test_steps_that_say_nothing_of_a_mind_have_none(info: Any) -> None:
    rows = [TrainingStep(**{**vars(step_of(index)), "info": info}) for index in range(3)]
    assert EpisodeMind.of(rows) is None
    assert EpisodeMind.of([]) is None


def test_the_goal_stands_where_it_becomes_another_one() -> None:
    mind = told_mind(
        {"goal": "explore"}, {"goal": "explore"}, {"goal": "subgoal x"}, {}, {"goal": "subgoal x"}
    )
    cells = [mind.goal_cell(step) for step in range(6)]
    assert cells == ["explore", "", "subgoal x", "–", "subgoal x", ""]
    assert mind.has_goals
    assert not told_mind({"confidence": 0.5}).has_goals


def test_what_is_known_of_a_state_stands_at_the_step_that_led_to_it() -> None:
    mind = told_mind(
        {"goal": "explore", "plan": "choose", "intention": "live › choose", "confidence": 0.9852},
        {"by_subgoal": True},
    )
    text = mind.text_at(0, 2)
    assert text.goal == "explore" and not text.note
    assert dict(text.facts)["Plan"] == "choose"
    assert dict(text.facts)["Confidence"] == "98.5 %" and dict(text.facts)["Next"] == "1"
    assert dict(mind.text_at(1, 2).facts) == {"Next": "1, for the subgoal"}
    assert mind.text_at(2, 2).note == ENDED
    assert mind.text_at(2, 9).note == NOTHING_TOLD
    found = mind.at(1)
    assert found is not None and found.state == 1


def test_bars_stand_on_zero_and_mark_what_was_chosen_and_what_is_best() -> None:
    mind = told_mind({"q_values": [-1.0, 0.0, 3.0]})
    low, zero, high = mind.text_at(0, 5, ("left", " ", "right")).bars
    assert (low.begin, low.end) == (0.0, 0.25) and (high.begin, high.end) == (0.25, 1.0)
    assert (zero.begin, zero.end) == (0.25, 0.25)
    assert [bar.is_chosen for bar in (low, zero, high)] == [False, True, False]
    assert [bar.is_best for bar in (low, zero, high)] == [False, False, True]
    assert [bar.name for bar in (low, zero, high)] == ["left", "1", "right"]


def test_none_is_best_where_all_are_worth_the_same() -> None:
    bars = told_mind({"q_values": [0.0, 0.0]}).text_at(0, 5).bars
    assert not any(bar.is_best for bar in bars)
    assert all(bar.begin == bar.end == 0.0 for bar in bars)


def test_many_actions_are_counted_rather_than_drawn() -> None:
    text = told_mind({"q_values": list(range(40))}).text_at(0, 5)
    assert len(text.bars) == 12 and text.more == "and 28 more actions"


def test_hostile_values_become_text() -> None:
    mind = told_mind(
        {
            "goal": "<b>x</b>\n\x1b[31m" + "a" * 2000,
            "confidence": 7.0,
            "q_values": [math.nan, math.inf, "x", -1e308, 1e308],
            "beliefs": {"added": ["a" * 900, 5, ""], "removed": "no list"},
            "events": [None, "b\0c"],
            "left_out": -4,
        },
        action=[1, 2],
        observation=True,
    )
    text = mind.text_at(0, 5)
    assert dict(text.facts)["Confidence"] == "100.0 %"
    assert all(0.0 <= bar.begin <= bar.end <= 1.0 for bar in text.bars)
    assert not any(bar.is_chosen for bar in text.bars)
    assert all(
        piece.isprintable() or piece == "\u200b" for _, line in text.changes for piece in line
    )
    found = mind.at(0)
    assert found is not None and found.state is None


def test_changes_say_by_a_sign_what_came_and_what_went() -> None:
    mind = told_mind(
        {
            "beliefs": {"added": ["new"], "removed": ["old"]},
            "events": ["said", *["more"] * 30],
            "left_out": 2,
        }
    )
    changes = mind.text_at(0, 5).changes
    assert changes[:3] == (("+", "new"), ("\u2212", "old"), ("\u2022", "said"))
    assert changes[-1] == ("…", "11 more, not listed") and len(changes) == 25


def test_a_long_text_has_places_where_a_line_may_end() -> None:
    text = breakable("x" * 100)
    assert text.replace("\u200b", "") == "x" * 100
    assert max(map(len, text.split("\u200b"))) <= 16
    assert breakable("a b\nc") == "a b c"


def test_of_several_agents_the_first_is_shown() -> None:
    rows = [
        step_of(0, {"goal": "mine"}),
        step_of(0, {"goal": "theirs"}, agent_id="other"),
        step_of(1, {"goal": "theirs"}, agent_id="other"),
    ]
    mind = EpisodeMind.of(rows)
    assert mind is not None
    assert mind.goal_cell(0) == "mine" and mind.at(1) is None


def snapshots(*steps: int) -> list[ValuesLine]:
    return [ValuesLine(0.0, step, step // 10, ()) for step in steps]


def test_the_map_is_as_it_was_at_that_step_of_the_training() -> None:
    known = snapshots(0, 100, 105, 200)
    episode = episode_of({"step": 110})  # of ten steps: it began at 100
    found = [snapshot_at(known, episode, 10, step) for step in (0, 4, 5, 10)]
    assert [item.step for item in found if item is not None] == [100, 100, 105, 105]
    assert snapshot_at(snapshots(500), episode, 10, 3) is None
    assert snapshot_text(known, known[1]) == "Values as they were after 100 steps of the training"
    assert snapshot_text(snapshots(500), None).startswith("Values were first told later, after 500")
    assert snapshot_text([], None) == "No values were told"


@pytest.mark.parametrize("metadata", [None, [], {"step": True}, {"step": -1}, {"step": "1e9"}])
def test_without_the_step_of_the_training_episodes_are_counted(metadata: Any) -> None:
    episode = episode_of(metadata)
    assert ended_at(episode) is None
    found = snapshot_at(snapshots(10, 30, 40), episode, 10, 9)
    assert found is not None and found.episodes == 3


def test_actions_have_names_only_where_the_map_speaks_of_the_same() -> None:
    line = MapLine(1, 1, (("floor",),), ("left", "right"), ("left", "right"), ("",), ((0,),), ("",))
    assert actions_of(line, (1.0, 2.0)) == ("left", "right")
    assert actions_of(line, (1.0,)) == () == actions_of(None, (1.0, 2.0))


def test_confidence_is_a_strip_between_none_and_all() -> None:
    strip = confidence_strip({0: 0.5, 1: 7.0, 9: 0.1}, 3)
    assert strip is not None and strip.limits == (0.0, 1.0)
    assert strip.values[:2, 0].tolist() == [0.5, 1.0] and np.isnan(strip.values[2:]).all()
    assert confidence_strip({}, 3) is None


def test_the_best_of_what_actions_are_worth_is_the_value_of_a_state() -> None:
    assert values_of([step_of(0, {"q_values": [0.5, 2.0]}), step_of(1, {})]) == {0: 2.0}
