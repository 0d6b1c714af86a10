import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.cli.commands.logs import TerminalLog

REPLACED = "\N{REPLACEMENT CHARACTER}"
COLUMNS = 20
COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
FRAGMENTS = [
    b"\x1b",
    b"[",
    b"]52;c;QQ==",
    b"\x07",
    b"\x1b\\",
    b"31",
    b";",
    b"m",
    b"J",
    b"K",
    b">",
    b"\r",
    b"\n",
    b"\t",
    b" ",
    b"\x9b",
    b"\xc2\x9b",
    b"\x9d",
    b"\xe2\x80\xae",
    b"\xe2\x80",
    b"\xf0\x9f\x9a\x80",
    b"\x7f",
    b"\0",
    b"100%|###|",
    b"7" * 70,
]
logs = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=4), max_size=30).map(b"".join)


def shown(*chunks: bytes, has_colour: bool = True) -> str:
    output = TerminalLog(COLUMNS, has_colour)
    return "".join(map(output.feed, chunks)) + output.end()


@given(logs, st.booleans())
def test_of_all_orders_only_whole_colours_reach_the_terminal(log: bytes, has_colour: bool) -> None:
    rest = shown(log, has_colour=has_colour)
    if has_colour:
        rest = COLOUR.sub("", rest)
    assert all(c.isprintable() or c in "\n\r\t" or c >= "\xa0" for c in rest)
    assert "\x1b" not in rest
    assert not re.search("[\x80-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", rest)


@given(logs, st.lists(st.integers(0, 200), max_size=6))
def test_where_chunks_are_cut_makes_no_difference(log: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(log), *(min(cut, len(log)) for cut in cuts)})
    chunks = [log[start:end] for start, end in itertools.pairwise(places)]
    assert shown(*chunks) == shown(log)


@given(logs)
def test_every_line_ends_without_colour(log: bytes) -> None:
    for line in re.split("[\r\n]", shown(log)):
        colours = COLOUR.findall(line)
        assert not colours or colours[-1] in ("\x1b[0m", "\x1b[m")


@given(logs)
def test_without_colours_no_order_at_all_is_left(log: bytes) -> None:
    assert "\x1b" not in shown(log, has_colour=False)


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (b"plain\nlines\n", "plain\nlines\n"),
        (b"windows\r\nlines\r\r\n", "windows\nlines\n"),
        ("ä 漢字 🚀\n".encode(), "ä 漢字 🚀\n"),
        (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m\n"),
        (b"\x1b[1;38;2;1;2;3mbold\n", "\x1b[1;38;2;1;2;3mbold\x1b[0m\n"),
        (b"\x1b]52;c;QQ==\x07", f"{REPLACED}]52;c;QQ=={REPLACED}"),
        (b"\x1b]0;title\x1b\\", f"{REPLACED}]0;title{REPLACED}\\"),
        (b"\x1b[2J\x1b[Hwiped\x1b[1A\x1b[K\n", "wiped\n"),
        (b"\x1b[>4;1mkeys\n", "keys\n"),
        (b"\x1bcreset\n", f"{REPLACED}creset\n"),
        (b"cut \x1b[3", f"cut {REPLACED}[3"),
        (b"cut \xe2\x80", f"cut {REPLACED}"),
        (b"latin \x9b2J\n", f"latin {REPLACED}2J\n"),
        (b"\x1b[" + b"1;" * 100 + b"m\n", f"{REPLACED}[" + "1;" * 100 + "m\n"),
    ],
)
def test_a_log_on_a_terminal(log: bytes, text: str) -> None:
    assert shown(log) == text


def test_a_progress_bar_writes_over_itself_and_leaves_nothing_of_what_was_longer() -> None:
    assert shown(b"\r 9 of 10\rdone\n") == " 9 of 10\r        \rdone\n"


def test_a_bar_that_is_wider_than_the_terminal_gets_a_line_for_each_state() -> None:
    bar = b"#" * COLUMNS
    assert shown(bar + b" 1\r" + bar + b" 2\n") == f"{'#' * 20} 1\n{'#' * 20} 2\n"


def test_a_million_carriage_returns_are_not_worth_much_time() -> None:
    assert shown(b"\r" * 1_000_000 + b"x" + b"\r" * 1_000_000 + b"\n") == "x\n"
