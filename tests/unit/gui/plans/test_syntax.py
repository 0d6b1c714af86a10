"""Which parts of AgentSpeak are coloured, and where a problem is underlined."""

from __future__ import annotations

import pytest

from mosaic.gui.plans.model.places import marked_span, utf16_length
from mosaic.gui.plans.model.syntax import LONGEST_LINE, Part, spans_of


def parts(line: str, is_in_comment: bool = False) -> list[tuple[str, Part]]:
    spans, _ = spans_of(line, is_in_comment)
    return [(line[span.begin : span.end], span.part) for span in spans]


def test_a_line_of_a_plan() -> None:
    assert parts('@live +!live : count(N) & not x <- .note("a // b", 1.5); !!live.') == [
        ("@live", Part.LABEL),
        ("+", Part.SIGN),
        ("!", Part.SIGN),
        ("N", Part.VARIABLE),
        ("not", Part.WORD),
        ("<-", Part.SIGN),
        (".note", Part.ACTION),
        ('"a // b"', Part.STRING),
        ("1.5", Part.NUMBER),
        ("!!", Part.SIGN),
    ]


@pytest.mark.parametrize("line", ["note.wait", "nothing", "endless", "trueish(x1)", "a_B"])
def test_names_are_not_coloured_for_what_is_in_them(line: str) -> None:
    assert parts(line) == []


def test_comments_go_to_the_end_of_the_line_or_over_several() -> None:
    assert parts("a. // said /* so") == [("// said /* so", Part.COMMENT)]
    assert parts("a. # said") == [("# said", Part.COMMENT)]
    assert parts("a /* b */ C") == [("/* b */", Part.COMMENT), ("C", Part.VARIABLE)]
    spans, is_in_comment = spans_of("a /* b")
    assert is_in_comment and spans[-1].end == 6
    assert spans_of("still", True)[1] and spans_of("", True)[1]
    assert parts("end */ C", True) == [("end */", Part.COMMENT), ("C", Part.VARIABLE)]
    assert not spans_of("end */ C", True)[1]
    assert spans_of("/*/", False)[1], "its own star does not end it"


def test_a_string_that_does_not_end_is_one() -> None:
    assert parts('x("abc') == [('"abc', Part.STRING)]
    assert parts('"a\\"b" C') == [('"a\\"b"', Part.STRING), ("C", Part.VARIABLE)]


@pytest.mark.parametrize("line", ["x(" * 5000, '"\\' * 5000, "/" * 5000, "\0" * 5000])
def test_an_endless_line_has_no_colours(line: str) -> None:
    assert spans_of(line) == ([], False)


@pytest.mark.parametrize("sign", ['"', "\\", '"\\', "/*", "_", "+!", ".a", "1e", "\0", "😀", "("])
def test_every_line_is_gone_through(sign: str) -> None:
    line = (sign * LONGEST_LINE)[:LONGEST_LINE]
    spans, _ = spans_of(line)
    places = [place for span in spans for place in (span.begin, span.end)]
    assert places == sorted(places) and all(0 <= place <= len(line) for place in places)


@pytest.mark.parametrize(
    ("line", "column", "marked"),
    [
        ("+!a <- .foo(1)", 8, ".foo"),
        ("+!a <- $", 8, "$"),
        ("!live", 99, "e"),
        ("!live   ", 7, "e"),
        ("a b", 0, "a"),
        ("", 1, ""),
        ("   ", 3, " "),
    ],
)
def test_a_word_or_a_sign_is_underlined(line: str, column: int, marked: str) -> None:
    begin, end = marked_span(line, column)
    assert line[begin:end] == marked


def test_places_are_counted_as_qt_counts() -> None:
    assert utf16_length("a😀b") == 4
    assert marked_span("😀 .foo(1)", 3) == (3, 7)
