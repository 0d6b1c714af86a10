"""What did not come with this installation runs only after a person has seen it, line by line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from mosaic.cli.terminal import confirmed, printable
from mosaic.contracts.consent import Consent, consent_asked
from mosaic.errors import ConsentError

T = TypeVar("T")
_ABOUT_TO_RUN = "This would run:"


def with_consent(act: Callable[[str], T], *, is_given: bool, question: str = "Start it?") -> T:
    """`act` gets the digest of what was confirmed, which is empty at first.

    `is_given`: the command line said --yes, which is for exactly what is shown.
    """
    asked = ""
    while True:
        try:
            return act(asked)
        except ConsentError as error:
            needed = consent_asked(error)
            if needed is None or needed.digest == asked:
                raise
            confirm(needed, is_given=is_given, question=question)
            asked = needed.digest


def confirm(needed: Consent, *, is_given: bool, question: str) -> None:
    """Raises ConsentError unless somebody wants exactly this."""
    for line in (_ABOUT_TO_RUN, *(f"  {line}" for line in needed.lines)):
        print(printable(line), file=sys.stderr, flush=True)
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
