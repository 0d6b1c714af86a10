"""Descendants are found, and memory is what the run's control group counts."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mosaic.runhost.control_groups import ControlGroups
from mosaic.runhost.run_processes import MemoryMeter, descendants, parse_stat

MB = 1_048_576


def test_the_control_group_is_believed_and_its_highest_count_is_kept(tmp_path: Path) -> None:
    meter = MemoryMeter(ControlGroups([str(tmp_path)]), limit_mb=100)
    for held, cached in ((300, 20), (250, 240)):
        (tmp_path / "memory.current").write_text(f"{held * MB}\n")
        (tmp_path / "memory.stat").write_text(f"anon 0\ninactive_file {cached * MB}\n")
        # Nobody asks these processes: there are none with such numbers.
        assert meter.used_mb({2**30, 2**30 + 1}) == held - cached
    assert meter.peak_mb == 280


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
