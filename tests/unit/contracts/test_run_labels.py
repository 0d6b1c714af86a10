"""The rule that gives every run a name of its own, and what tags and notes may hold."""

from __future__ import annotations

import random

import pytest

from mosaic.contracts.run_labels import (
    MAX_NAME,
    MAX_NOTE,
    MAX_TAG,
    MAX_TAGS,
    LabelChange,
    free_name,
    named_apart,
    note_problem,
    tags_in,
    tags_problem,
)
from mosaic.contracts.run_reference import name_without_seed
from mosaic.errors import ConfigError


@pytest.mark.parametrize(
    ("wanted", "taken", "name"),
    [
        ("ours", [], "ours"),
        ("ours", ["theirs", "ours#2", "ours-seed1"], "ours"),
        ("ours", ["ours"], "ours#2"),
        ("ours", ["ours", "ours#2"], "ours#3"),
        # A number that became free again is not given to another run.
        ("ours", ["ours", "ours#5"], "ours#6"),
        ("ours", ["ours", "ours#many", "ours#", "ours#02", "ours#2x"], "ours#2"),
        ("ours#2", ["ours", "ours#2"], "ours#2#2"),
        ("größer", ["größer"], "größer#2"),
    ],
)
def test_a_name_that_is_taken_gets_the_next_number(
    wanted: str, taken: list[str], name: str
) -> None:
    assert free_name(wanted, taken) == name


def test_many_runs_are_named_apart_as_one_after_the_other_would_be() -> None:
    words = random.Random(0).choices(
        ["a", "a#2", "a#3", "a#2#2", "a#01", "b", "a#9", "#", ""], k=400
    )
    one_by_one: list[str] = []
    for word in words:
        one_by_one.append(free_name(word, one_by_one))
    assert named_apart(words) == one_by_one
    assert len(set(one_by_one)) == len(words)


def test_a_numbered_seed_still_belongs_to_its_group() -> None:
    assert name_without_seed("ours-seed3#2") == name_without_seed("ours-seed3") == "ours"
    assert name_without_seed("ours#2") == "ours#2"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (LabelChange(name="  "), "name"),
        (LabelChange(name="../../etc"), "name"),
        (LabelChange(name="a\nb"), "name"),
        (LabelChange(name="right\u202eleft"), "name"),
        (LabelChange(name="x" * (MAX_NAME + 1)), "name"),
        (LabelChange(add_tags=("two words",)), "tags"),
        (LabelChange(add_tags=("a,b",)), "tags"),
        (LabelChange(add_tags=("",)), "tags"),
        (LabelChange(add_tags=("--force",)), "tags"),
        (LabelChange(add_tags=("x" * (MAX_TAG + 1),)), "tags"),
        (LabelChange(note="bell\x07"), "note"),
        (LabelChange(note="x" * (MAX_NOTE + 1)), "note"),
    ],
)
def test_hostile_text_is_refused_and_the_field_named(change: LabelChange, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        change.checked()
    assert caught.value.details["field"] == field
    assert field.rstrip("s") in caught.value.message


def test_what_is_accepted_has_no_blanks_around_it() -> None:
    change = LabelChange(" a name ", ("one", " one", "two "), ("old",), " two\nlines ").checked()
    assert change == LabelChange("a name", ("one", "two"), ("old",), "two\nlines")


def test_tags_are_added_once_and_in_order() -> None:
    change = tags_in(["+new", "-old", "plain", "+kept"])
    assert change == LabelChange(add_tags=("new", "plain", "kept"), remove_tags=("old",))
    assert change.tags_of(["kept", "old"]) == ("kept", "new", "plain")


def test_a_run_has_a_limited_number_of_tags() -> None:
    many = tuple(f"tag{number}" for number in range(MAX_TAGS))
    assert LabelChange(add_tags=many).tags_of(()) == many
    with pytest.raises(ConfigError, match="21 tags"):
        LabelChange(add_tags=("another",)).tags_of(many)
    assert tags_problem((*many, "another")) and tags_problem(("twice", "twice"))
    assert tags_problem(many) is None and note_problem("several\nlines\tof text") is None
