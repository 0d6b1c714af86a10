"""Rows and records: what goes into the registry comes out again, with its checksum."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.run_record import Lineage, LineageKind, Progress, RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.daemon.registry.rows import (
    LISTED,
    RUN_COLUMNS,
    SqlValue,
    capabilities_document,
    columns_of,
    record_of,
    row_checksum,
    row_of,
    storable,
)

TEXT = st.text(max_size=20).filter(lambda text: text.isprintable())
MOMENT = st.floats(0, 1e11)
COUNT = st.integers(0, 2**40)


def through_the_table(record: RunRecord) -> RunRecord:
    row = row_of(record, None, "digest")
    return record_of([row[name] for name in LISTED])


@given(
    st.builds(
        RunRecord,
        run_id=TEXT,
        run_name=TEXT,
        worker=TEXT,
        state=st.sampled_from(RunState),
        outcome=st.none() | st.sampled_from(Outcome),
        attempt=st.integers(0, 2**32 - 1),
        priority=st.integers(-100, 100),
        created_at=MOMENT,
        updated_at=MOMENT,
        started_at=st.none() | MOMENT,
        failure=st.none() | st.builds(FailureReason, st.sampled_from(FailureKind), TEXT, TEXT),
        exit_code=st.none() | st.integers(0, 255),
        stop_requested=st.booleans(),
        progress=st.builds(Progress, COUNT, st.none() | COUNT, COUNT, st.none() | COUNT),
        lineage=st.none()
        | st.builds(
            Lineage,
            st.just("01K" + "0" * 23),
            st.sampled_from(LineageKind),
            st.none() | COUNT,
        ),
        gpu_slots=st.lists(st.integers(0, 8), max_size=3).map(tuple),
    )
)
def test_a_record_survives_the_table(record: RunRecord) -> None:
    assert through_the_table(record) == record


def test_a_listed_record_has_every_field_of_a_record() -> None:
    listed = through_the_table(
        RunRecord("id", "name", "worker", RunState.INIT, None, 0, 0, 1.0, 1.0)
    )
    for item in fields(RunRecord):
        getattr(listed, item.name)
    assert listed.to_dict()["waiting"] == ""


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("steps", 10**30),
        ("steps", -(10**30)),
        ("steps", True),
        ("created_at", 5),
        ("last_return", -0.0),
        ("last_return", math.nan),
        ("last_return", math.inf),
        ("env_id", "lone \ud800 surrogate"),
        ("env_id", "with \x00 nul"),
        ("stalled", None),
    ],
)
def test_sqlite_gives_back_exactly_the_storable_value(column: str, value: Any) -> None:
    kind = {str: "TEXT", int: "INTEGER", float: "REAL"}[RUN_COLUMNS[column].kind]
    stored = storable(column, value)
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE t (x {kind})")
    connection.execute("INSERT INTO t VALUES (?)", (stored,))
    (returned,) = connection.execute("SELECT x FROM t").fetchone()
    connection.close()
    assert returned == stored
    assert type(returned) is type(stored)
    assert repr(returned) == repr(stored)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        columns_of({"colour": "red"})


def test_equal_capabilities_share_one_document() -> None:
    first, _ = capabilities_document({"a": 1, "b": 2})
    second, _ = capabilities_document({"b": 2, "a": 1})
    assert first == second
    assert first != capabilities_document({"a": 1})[0]


VALUES = st.lists(
    st.none() | st.integers() | st.floats(allow_nan=False) | st.text(), min_size=1, max_size=8
)


@given(VALUES)
def test_the_same_values_always_have_the_same_checksum(values: list[SqlValue]) -> None:
    assert row_checksum(values) == row_checksum(tuple(values))
    assert len(row_checksum(values)) == 8


@given(VALUES, st.data())
def test_any_changed_value_changes_the_checksum(
    values: list[SqlValue], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(values) - 1))
    other = data.draw(st.none() | st.integers() | st.text())
    if other != values[index] or type(other) is not type(values[index]):
        changed = [*values[:index], other, *values[index + 1 :]]
        assert row_checksum(changed) != row_checksum(values)


def test_type_and_place_count() -> None:
    different: list[list[SqlValue]] = [
        ["1"],
        [1],
        [1.0],
        [None],
        ["None"],
        [1, 2],
        [2, 1],
        ["1", ""],
    ]
    assert len({row_checksum(values) for values in different}) == len(different)


def test_lone_surrogates_do_not_break_it() -> None:
    assert row_checksum(["\ud800"])
