"""Lines come out whole, whatever the chunks; too long ones are skipped and counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mosaic.runhost.output_lines import LineSplitter


def test_line_is_delivered_once_it_is_complete() -> None:
    splitter = LineSplitter(100)
    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.feed(b"o\n\nthree") == [b"two", b""]
    assert splitter.flush() == b"three"
    assert splitter.flush() == b""


def test_overlong_line_is_skipped_to_its_newline_and_counted() -> None:
    splitter = LineSplitter(10)
    assert splitter.feed(b"short\n" + b"x" * 8) == [b"short"]
    assert splitter.feed(b"x" * 8) == []
    assert splitter.feed(b"x" * 1000 + b"\nnext\n") == [b"next"]
    assert splitter.oversized == 1


def test_overlong_last_line_leaves_nothing() -> None:
    splitter = LineSplitter(10)
    assert splitter.feed(b"x" * 11) == []
    assert splitter.flush() == b""
    assert splitter.feed(b"ok\n") == [b"ok"]


def test_line_of_exactly_the_limit_is_kept() -> None:
    splitter = LineSplitter(10)
    assert splitter.feed(b"x" * 10 + b"\n") == [b"x" * 10]
    assert splitter.oversized == 0


@given(st.binary(max_size=200), st.integers(1, 20))
def test_any_cutting_gives_the_same_lines(data: bytes, size: int) -> None:
    splitter = LineSplitter(1000)
    lines = [line for i in range(0, len(data), size) for line in splitter.feed(data[i : i + size])]
    assert [*lines, splitter.flush()] == data.split(b"\n")
