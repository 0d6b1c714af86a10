"""A run's output on a terminal: it is read, and of all orders in it only colours are obeyed."""

from __future__ import annotations

import codecs
import re

from mosaic.cli.terminal import COLOUR_ORDER, RESET, printable, text_width

_TAB_WIDTH = 8
_PARAMETERS = r"\x1b\[[0-?]{0,64}[ -/]{0,4}"
_PIECES = re.compile(
    rf"(?P<plain>[ -~]+)|(?P<end>\n|\r+\n?)|(?P<order>{_PARAMETERS}[@-~])|(?P<one>.)", re.DOTALL
)
_BEGUN_ORDER = re.compile(rf"(\x1b|{_PARAMETERS})\Z")
_LONGEST_BEGUN = 70


class LogOnTerminal:
    """One output of a run, chunk by chunk, as a terminal may show it.

    Where the chunks are cut makes no difference: what is undecided waits for the next one.
    Colours end with their line, other orders are taken out. A bar that writes over itself after a
    carriage return still does, while it fits into one row; otherwise each state gets a line.
    """

    def __init__(self, columns: int, has_colour: bool) -> None:
        self._columns = columns
        self._has_colour = has_colour
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._is_coloured = False
        self._width = 0  # of what stands in the present row, at most

    def feed(self, data: bytes) -> str:
        return self._shown(self._waiting + self._decoder.decode(data))

    def end(self) -> str:
        """What was left undecided, and no colour that outlasts the log."""
        rest = self._shown(self._waiting + self._decoder.decode(b"", final=True))
        undecided, self._waiting = self._waiting, ""
        return rest + printable(undecided.rstrip("\r")) + self._reset()

    def _shown(self, text: str) -> str:
        decided, self._waiting = _decided(text)
        return "".join(map(self._piece, _PIECES.finditer(decided)))

    def _piece(self, match: re.Match[str]) -> str:
        text = match[0]
        if match.lastgroup == "order":
            return self._colour(text)
        if match.lastgroup == "end":
            return self._new_line() if text.endswith("\n") else self._rewound()
        self._width += _TAB_WIDTH if text == "\t" else text_width(text)
        return printable(text)

    def _colour(self, order: str) -> str:
        if not self._has_colour or not COLOUR_ORDER.fullmatch(order):
            return ""
        self._is_coloured = order not in ("\x1b[m", RESET)
        return order

    def _reset(self) -> str:
        was_coloured, self._is_coloured = self._is_coloured, False
        return RESET if was_coloured else ""

    def _new_line(self) -> str:
        self._width = 0
        return self._reset() + "\n"

    def _rewound(self) -> str:
        """Back to the beginning of the row, with nothing of a longer text left in it."""
        if self._width >= self._columns:  # it has gone on in further rows
            return self._new_line()
        blank, self._width = " " * self._width, 0
        return f"{self._reset()}\r{blank}\r" if blank else ""


def _decided(text: str) -> tuple[str, str]:
    """The text, and the end of it that only the next bytes can explain."""
    without_returns = text.rstrip("\r")
    if without_returns != text:
        return without_returns, "\r"
    begun = _BEGUN_ORDER.search(text, max(0, len(text) - _LONGEST_BEGUN))
    return (text[: begun.start()], begun[0]) if begun else (text, "")
