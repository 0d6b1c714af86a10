"""Pattern: a regular expression that a person typed, with a limit to the work it may make."""

from __future__ import annotations

from PySide6.QtCore import QRegularExpression

# Of one text. A pattern that would try for hours is given up after a few dozen microseconds.
_LIMIT = 2000
# So many texts that were given up, and the rest is not tried.
_MOST_GIVEN_UP = 200
_LONGEST = 500
# A pattern may only lower what stands before it.
_PREFIX = f"(*LIMIT_MATCH={_LIMIT})(*LIMIT_DEPTH={_LIMIT})"


class Pattern:
    """In any case of letters, as the words of the filter are."""

    def __init__(self, text: str) -> None:
        self._expression = QRegularExpression(
            _PREFIX + text,
            QRegularExpression.PatternOption.CaseInsensitiveOption
            | QRegularExpression.PatternOption.MultilineOption,
        )
        self._given_up = 0
        self._mistake = ""
        if len(text) > _LONGEST:
            self._mistake = f"the pattern has {len(text):,} characters; {_LONGEST} is the limit"
        elif not self._expression.isValid():
            at = max(0, self._expression.patternErrorOffset() - len(_PREFIX))
            self._mistake = f"{self._expression.errorString()}, at character {at + 1}"

    @property
    def mistake(self) -> str:
        """Why it cannot be used; empty when it can."""
        return self._mistake

    @property
    def problem(self) -> str:
        """What is wrong with it, after it was tried as well."""
        if self._mistake:
            return self._mistake
        return "the pattern takes too long: make it simpler" if self._given_up else ""

    def found(self, text: str) -> bool:
        if self._given_up >= _MOST_GIVEN_UP:
            return False
        match = self._expression.match(text)
        if match.hasMatch():
            return True
        if not match.isValid():
            self._given_up += 1
        return False
