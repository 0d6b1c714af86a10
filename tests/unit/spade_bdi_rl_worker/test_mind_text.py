"""The text of a step's info says what a dict would."""

from __future__ import annotations

import json

import numpy as np

from mosaic.contracts.agents import StepOfMind, step_of_mind
from spade_bdi_rl_worker.mind_text import mind_texts, with_more


def test_each_row_is_told_with_what_all_have_in_common() -> None:
    base = {"goal": 'subgoal "100 %s"', "plan": "é", "intention": "a › b"}
    known = np.array([[0.5, 1.0, -0.25], [0.123456789, 1e-9, 2e20]])
    first, second = (json.loads(text) for text in mind_texts(base, known))
    assert first == {"mind": {**base, "confidence": 0.5, "q_values": [1, -0.25]}}
    assert second["mind"]["confidence"] == 0.123457
    assert second["mind"]["q_values"] == [1e-9, 2e20]


def test_what_is_no_number_is_told_as_such() -> None:
    known = np.array([[0.5, np.nan], [0.25, -np.inf]])
    told = [json.loads(text)["mind"] for text in mind_texts({}, known)]
    assert told == [
        {"confidence": 0.5, "q_values": ["NaN"]},
        {"confidence": 0.25, "q_values": ["-Infinity"]},
    ]


def test_more_is_added_and_it_is_read_as_what_it_was() -> None:
    (text,) = mind_texts({"goal": "explore"}, np.array([[0.5, 1.0]]))
    text = with_more(text, {"by_subgoal": True})
    text = with_more(text, {"beliefs": {"added": ["a"], "removed": []}, "events": ["b"]})
    assert step_of_mind(json.loads(text)) == StepOfMind(
        goal="explore",
        confidence=0.5,
        q_values=(1.0,),
        is_by_subgoal=True,
        added=("a",),
        events=("b",),
    )
