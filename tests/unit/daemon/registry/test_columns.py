"""One table says what every column may hold; whatever it lets pass, a message can carry."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.daemon.registry.rows import LISTED, RUN_COLUMNS, Column, record_of, row_of, row_problem
from mosaic.wire.convert import record_from_proto, record_to_proto
from mosaic.wire.generated import trainer_pb2 as pb
from tests.registry_samples import new_run

SOUND = row_of(new_run().record, None, "digest")
# Whatever JSON or SQLite may give for a value.
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.sampled_from(["INIT", "TERM", "succeeded", "here", '{"kind": "lost"}', "0,1", "", 2**32]),
)


@given(st.dictionaries(st.sampled_from(sorted(RUN_COLUMNS)), ANYTHING, max_size=4))
def test_a_row_without_a_problem_becomes_a_record_that_a_message_holds(
    changes: dict[str, Any],
) -> None:
    row = {**SOUND, **changes}
    if row_problem(row) is None:
        record = record_of([row[name] for name in LISTED])
        assert record_from_proto(record_to_proto(record)) == record


@given(st.sampled_from(sorted(RUN_COLUMNS)), ANYTHING)
def test_what_is_made_storable_has_no_problem_unless_it_is_a_word(name: str, value: Any) -> None:
    column = RUN_COLUMNS[name]
    try:
        stored = column.storable(value)
    except (ValueError, OverflowError):
        return  # a text where a number belongs: no value of ours
    if stored is not None and column.check is None:
        assert column.problem(stored) is None


@pytest.mark.parametrize("name", sorted(RUN_COLUMNS))
def test_the_ends_of_every_range_fit_into_the_message_and_one_beyond_does_not(name: str) -> None:
    column = RUN_COLUMNS[name]
    message_field = {field.name: field for field in pb.RunRecord.DESCRIPTOR.fields}.get(name)
    if column.kind is not int or message_field is None:
        return
    for end in (column.lowest, column.highest):
        assert column.problem(int(end)) is None
        record_to_proto(record_of([{**SOUND, name: int(end)}[each] for each in LISTED]))
    assert column.problem(int(column.lowest) - 1) and column.problem(int(column.highest) + 1)


def test_every_column_of_the_table_is_one_of_the_registry() -> None:
    folder = Path(__file__).parents[4] / "src" / "mosaic" / "daemon" / "registry" / "migrations"
    text = "".join(path.read_text() for path in sorted(folder.glob("*.sql")))
    table = text[text.index("CREATE TABLE runs") : text.index(");")]
    optional = {
        name
        for name, rest in re.findall(r"^    (\w+) \w+(.*?),?$", table, re.MULTILINE)
        if name in RUN_COLUMNS and "NOT NULL" not in rest
    }
    optional |= set(re.findall(r"ALTER TABLE runs ADD COLUMN (\w+) \w+;", text))
    assert optional == {name for name, column in RUN_COLUMNS.items() if column.is_optional}


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("attempt", 10**12, "attempt is 1000000000000; it must be a whole number from 0 to"),
        ("attempt", None, "attempt is missing"),
        ("attempt", True, "attempt is True"),
        ("mean_return", math.inf, "mean_return is inf; it must be a number"),
        ("mean_return", 2**53 + 1, "mean_return is 9007199254740993; it must be a number"),
        ("env_id", "x" * 200_000, "env_id has 200,000 characters"),
        ("state", "x" * 500, "state is 'xxx"),
        ("steps", 10**500, "steps is 10000"),
        ("steps", -1, "steps is -1; it must be a whole number from 0 to 9,223,372,036,854,775,807"),
    ],
)
def test_a_problem_names_the_column_and_its_value_in_a_short_sentence(
    name: str, value: Any, sentence: str
) -> None:
    problem = row_problem({**SOUND, name: value})
    assert problem is not None
    assert problem.startswith(sentence) and len(problem) < 200


def test_a_missing_column_is_named() -> None:
    row = {name: value for name, value in SOUND.items() if name != "cpus"}
    assert row_problem(row) == "cpus is missing"


def test_control_characters_are_shown_as_what_they_are() -> None:
    assert r"'\x1b[2J'" in (row_problem({**SOUND, "state": "\x1b[2J"}) or "")


def test_numbers_of_our_own_are_brought_into_their_range() -> None:
    column = Column(int, False, 0, 10)
    assert [column.storable(value) for value in (-5, 5, 50)] == [0, 5, 10]
    assert RUN_COLUMNS["created_at"].storable(1e300) == 253_402_300_799.0
    assert RUN_COLUMNS["mean_return"].storable(math.inf) is None
    assert len(str(RUN_COLUMNS["env_id"].storable("x" * 200_000))) == 100_000
