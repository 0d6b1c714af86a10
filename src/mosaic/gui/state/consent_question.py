"""ConsentQuestion: something wants to run what did not come with this installation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mosaic.contracts.consent import Consent

EXPLANATION = (
    "It brings along code or commands that did not come with this installation. "
    "Start it only if you trust where it comes from."
)
YES, NO = "Start it", "Cancel"


@dataclass(frozen=True)
class ConsentQuestion:
    """Exactly one of the two functions is called, once."""

    subject: str  # what wants to run, as a person knows it
    consent: Consent
    granted: Callable[[], None]
    refused: Callable[[], None]

    @property
    def title(self) -> str:
        return f"{self.subject} would run this"

    @property
    def text(self) -> str:
        return "\n".join(self.consent.lines)
