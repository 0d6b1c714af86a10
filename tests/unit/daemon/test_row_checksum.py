"""Checksums of rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mosaic.daemon.registry.rows import SqlValue, row_checksum

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
