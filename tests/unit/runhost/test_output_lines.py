"""Lines come out whole, in bounded memory; the last ones as a terminal would show them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mosaic.runhost.output_lines import KEPT_BYTES, MAX_LINE_CHARACTERS, LastLines, LineSplitter


def test_last_lines_are_kept_whatever_the_chunks() -> None:
    kept = LastLines()
    for number in range(10_000):
        text = b"line %d\n" % number
        kept.feed(text[:3])
        kept.feed(text[3:])
    assert kept.lines(2) == ("line 9998", "line 9999")


def test_progress_bar_shows_only_its_last_state() -> None:
    kept = LastLines()
    kept.feed(b" 10%\r 20%\r100%\ndone\r\n")
    assert kept.lines(20) == ("100%", "done")


def test_flood_without_newline_is_bounded() -> None:
    kept = LastLines()
    for _ in range(100):
        kept.feed(b"x" * KEPT_BYTES)
    (line,) = kept.lines(20)
    assert len(line) == MAX_LINE_CHARACTERS
    assert len(kept._bytes) <= 2 * KEPT_BYTES


def test_broken_text_is_replaced_not_refused() -> None:
    kept = LastLines()
    kept.feed(b"\xff\xfe broken")
    assert kept.lines(1) == ("\ufffd\ufffd broken",)


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
