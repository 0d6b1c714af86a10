"""Text in the cell of a spreadsheet: it is shown there, never calculated.

A spreadsheet takes a cell that begins with one of these characters for a formula, which may fetch
addresses and start programs. Names and infos are chosen by workers and scripts, so such a cell gets
an apostrophe in front, as spreadsheets have it for text. Apostrophes that stand there already count
along, so that taking one off gives back every text.
"""

from __future__ import annotations

import re

# The full-width ones count as the others where people type them.
_FORMULA = re.compile(r"['\s]*[=+\-@＝＋－＠]|'*[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d[\d,]*(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def spreadsheet_text(text: str) -> str:
    """Numbers stay as they are, negative ones too."""
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text
