"""What did not come with this installation runs only after a person has seen it, line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

from mosaic.cli.terminal import confirmed, printable, say_aside
from mosaic.contracts.consent import Consent, consent_asked
from mosaic.errors import ConsentError

T = TypeVar("T")
_ABOUT_TO_RUN = "This would run:"


def with_consent(
    act: Callable[[Sequence[str]], T], *, is_given: bool, question: str = "Start it?"
) -> T:
    """`act` gets the digests of all that was confirmed so far, the latest last; at first none.

    `is_given`: the command line said --yes, which is for exactly what is shown.
    """
    granted: list[str] = []
    while True:
        try:
            return act(granted)
        except ConsentError as error:
            needed = consent_asked(error)
            if needed is None or needed.digest in granted:
                raise
            confirm(needed, is_given=is_given, question=question)
            granted.append(needed.digest)


def confirm(needed: Consent, *, is_given: bool, question: str) -> None:
    """Raises ConsentError unless somebody wants exactly this."""
    for line in (_ABOUT_TO_RUN, *(f"  {line}" for line in needed.lines)):
        say_aside(printable(line))
    if is_given:
        return
    if not sys.stdin.isatty():
        raise ConsentError(
            "This runs code that did not come with this installation, which needs a confirmation",
            hint="look at what it would run, above; then pass --yes",
            **needed.to_dict(),
        )
    if not confirmed(question):
        raise ConsentError("Nothing was started", hint="answer y, or pass --yes")
