"""Patterns, tags and notes in the filter."""

from __future__ import annotations

import re

import pytest

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.model.filter import RunsFilter, haystack_of
from mosaic.gui.runs.model.labels import tags_change, tags_text, what_is_labelled
from tests.unit.gui.run_samples import over

TAGGED = over(1, tags=("baseline", "paper"), note="The one in\nthe figure")
PLAIN = over(2)
ALL = [PLAIN, TAGGED]


def shown(wanted: RunsFilter) -> list[RunRecord]:
    search = (lambda text: bool(re.search(wanted.pattern, text))) if wanted.pattern else None
    return [run for run in ALL if wanted.matches(run, haystack_of(run), "succeeded", search)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tag:base", [TAGGED]),
        ("note:figure", [TAGGED]),
        ("paper", [TAGGED]),
        ("/seed[12]/", ALL),
        ("/seed1$|figure/", [PLAIN, TAGGED][1:]),
        ("/^succeeded/", []),
        ("//", []),
    ],
)
def test_what_a_person_types(text: str, found: list[RunRecord]) -> None:
    assert shown(RunsFilter.parse(text)) == found


def test_the_toggle_takes_the_text_as_it_is() -> None:
    assert RunsFilter.parse("seed[12] x", is_pattern=True).pattern == "seed[12] x"
    assert RunsFilter.parse("  ", is_pattern=True).is_empty


def test_a_pattern_that_cannot_be_used_hides_nothing() -> None:
    wanted = RunsFilter.parse("/(/")
    assert all(wanted.matches(run, haystack_of(run), "succeeded", None) for run in ALL)


def test_one_line_for_the_tags_of_several_runs() -> None:
    other = over(3, tags=("paper", "draft"))
    assert tags_text([TAGGED, other]) == "paper" and tags_text([]) == ""
    change = tags_change("paper old", "paper,+new new ")
    assert change is not None and (change.add_tags, change.remove_tags) == (("new",), ("old",))
    assert tags_change("a b", " b  a ") is None
    assert what_is_labelled([other]) == other.run_name and what_is_labelled(ALL) == "2 runs"
