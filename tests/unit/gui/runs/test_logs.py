"""Lines of a log, fit to be shown."""

from __future__ import annotations

import pytest

from mosaic.gui.runs.model.logs import (
    MOST_CHARACTERS,
    LogLine,
    LogLines,
    LogQuery,
    cut_text,
    matching,
    printable,
    printable_line,
)


def texts(lines: list[LogLine]) -> list[str]:
    return [line.text for line in lines]


def test_lines_are_put_together_from_pieces_of_their_own_stream() -> None:
    log = LogLines()
    assert log.feed("stdout", b"one\ntw") == [LogLine("stdout", "one")]
    assert log.feed("stderr", b"warn\n") == [LogLine("stderr", "warn")]
    assert texts(log.feed("stdout", b"o\n")) == ["two"]
    assert texts(list(log.lines)) == ["one", "warn", "two"]


def test_half_a_character_waits_for_its_other_half() -> None:
    log = LogLines()
    first, second = "ä\n".encode()[:1], "ä\n".encode()[1:]
    assert log.feed("stdout", first) == []
    assert texts(log.feed("stdout", second)) == ["ä"]


def test_what_has_no_end_of_line_is_shown_at_the_end() -> None:
    log = LogLines()
    log.feed("stdout", b"last words")
    assert texts(log.finish()) == ["last words"]
    assert log.finish() == []


def test_only_the_newest_are_kept_and_the_others_counted() -> None:
    log = LogLines(most_lines=3)
    added = log.feed("stdout", b"".join(b"%d\n" % number for number in range(10)))
    assert texts(added) == ["7", "8", "9"]
    assert log.dropped == 7
    log.feed("stdout", b"10\n")
    assert texts(list(log.lines)) == ["8", "9", "10"]
    assert log.dropped == 8
    log.clear()
    assert log.dropped == 0 and not log.lines


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    log = LogLines()
    for _ in range(200):
        log.feed("stdout", b"x" * 10_000)
    (line,) = log.feed("stdout", b"\n")
    assert len(line.text) < MOST_CHARACTERS + 40


def test_long_lines_say_how_much_is_missing() -> None:
    assert printable_line(b"x" * 2_500) == "x" * MOST_CHARACTERS + " … 500 more characters"
    assert printable_line(b"x" * 100_000).endswith(" … 98,000 more characters")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b[2J\x1b[Hclear", "clear"),
        (b"\x1b(Bplain", "plain"),
        (b"a\tb", "a    b"),
        (b"a\x00b\x08", "a␀b␈"),
        (b"\x7f", "␡"),
        ("abc\u202edef".encode(), "abc\N{REPLACEMENT CHARACTER}def"),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
        (b"10 %\r20 %\r30 %", "30 %"),
        (b"dos\r", "dos"),
        (b"", ""),
    ],
)
def test_nothing_steers_the_window(raw: bytes, text: str) -> None:
    assert printable_line(raw) == text


def test_other_scripts_stay_as_they_are() -> None:
    assert printable("Ergebnis: 5 µs · 良い") == "Ergebnis: 5 µs · 良い"


def test_lines_are_found_by_text_and_stream() -> None:
    lines = [LogLine("stdout", "Loss 1"), LogLine("stderr", "loss nan"), LogLine("stdout", "x")]
    assert texts(matching(lines, "LOSS", "")) == ["Loss 1", "loss nan"]
    assert texts(matching(lines, "loss", "stderr")) == ["loss nan"]
    assert texts(matching(lines, "", "stdout")) == ["Loss 1", "x"]


def test_what_is_missing_is_said_truthfully() -> None:
    assert cut_text(0, is_tail=False) == ""
    assert cut_text(12_345, is_tail=False) == "… 12,345 earlier lines"
    assert cut_text(12_345, is_tail=True) == "… more than 12,345 earlier lines"
    assert cut_text(0, is_tail=True) == "… earlier lines"


def test_expressions_stand_between_slashes() -> None:
    assert LogQuery.parse(" loss ") == LogQuery("loss")
    assert LogQuery.parse("/lo+s/") == LogQuery("lo+s", is_regex=True)
    assert LogQuery.parse("/tmp/file") == LogQuery("/tmp/file")
    assert LogQuery.parse("//").is_empty and LogQuery.parse("").is_empty
    assert LogQuery.parse("/").text == "/"


def test_a_bad_expression_is_told() -> None:
    query = LogQuery.parse("/(/")
    assert query.problem.startswith("This is no regular expression")
