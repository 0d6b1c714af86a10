"""Descendants are found from (pid, parent) pairs, and stat lines with odd names are read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mosaic.runhost.run_processes import descendants, parse_stat


def test_everyone_below_the_root_is_found() -> None:
    pairs = [(1, 0), (10, 1), (11, 10), (12, 11), (13, 10), (20, 1), (21, 20)]
    assert descendants(pairs, 10) == {11, 12, 13}


def test_root_without_children_has_no_descendants() -> None:
    assert descendants([(1, 0), (2, 1)], 2) == set()
    assert descendants([], 7) == set()


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20))), st.integers(1, 20))
def test_any_list_ends_even_with_cycles(pairs: list[tuple[int, int]], root: int) -> None:
    assert root not in descendants(pairs, root)


def test_command_name_may_hold_parentheses_and_spaces() -> None:
    numbers = " ".join(str(number) for number in range(4, 53))
    process = parse_stat(77, f"77 (a) b (c)) S 12 {numbers}".encode())
    assert (process.pid, process.ppid, process.state) == (77, 12, "S")
    assert process.start_ticks == 21
    assert not process.is_zombie
    assert parse_stat(77, f"77 (x) Z 12 {numbers}".encode()).is_zombie
