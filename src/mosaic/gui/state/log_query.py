"""LogQuery: what a person looks for in a log: a text, or /a regular expression/."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class LogQuery:
    """Expressions are left to the daemon, which gives up on those that would never end."""

    text: str = ""
    is_regex: bool = False
    problem: str = ""

    @classmethod
    def parse(cls, typed: str) -> LogQuery:
        text = typed.strip()
        if not text.startswith("/") or len(text) < 2:
            return cls(text)
        is_closed = text.endswith("/")
        pattern = text[1:-1] if is_closed else text[1:]
        # A path begins with a slash, too: it is an expression only once it is closed.
        if not is_closed:
            return cls(text)
        if not pattern:
            return cls()
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            return cls(pattern, True, f"This is no regular expression: {error}")
        return cls(pattern, True)

    @property
    def is_empty(self) -> bool:
        return not self.text

    @property
    def is_local(self) -> bool:
        """Whether the lines at hand can be looked through while it is typed."""
        return not self.is_regex
