"""What the window tells a person in a sentence, and what it asks before foreign code runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from mosaic.contracts.consent import Consent
from mosaic.errors import BundleError, MosaicError
from mosaic.front.human import size


class Severity(StrEnum):
    INFO = "info"
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True)
class Notice:
    text: str
    severity: Severity = Severity.INFO
    # What can be done about it, as "Undo" or "Show log", and what it is called.
    action: Callable[[], None] | None = None
    action_text: str = ""
    # How long it stays; 0: until it is closed.
    seconds: float = 6.0


def notice_of(error: MosaicError) -> Notice:
    """What happened, and what to do: stays until somebody has read it."""
    text = f"{error.message}. {_sentence(error.hint)}" if error.hint else error.message
    return Notice(text, Severity.BAD, seconds=0)


def install_offer(
    error: BundleError,
    fetch_bytes: int,
    agreed: Callable[[], None],
    action_text: str = "Install and start",
    title: str = "",
) -> Notice:
    """A run lacks a bundle: what is fetched for it, and a click that agrees to it."""
    name = title or str(error.details.get("bundle", "")) or "what it needs"
    fetched = f"at most {size(fetch_bytes)} to fetch" if fetch_bytes else "nothing to fetch"
    note = str(error.details.get("note", ""))
    return Notice(
        f"{name} is not installed ({fetched}){note and '. '}{note}",
        action=agreed,
        action_text=action_text,
        seconds=0,
    )


def _sentence(hint: str) -> str:
    return hint[:1].upper() + hint[1:]


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


def sentence_of(error: MosaicError) -> str:
    """What happened and what to do, each as a sentence."""
    text = error.message[:1].upper() + error.message[1:]
    hint = f" {error.hint[:1].upper()}{error.hint[1:]}." if error.hint else ""
    return f"{text}.{hint}" if not text.endswith(".") else f"{text}{hint}"
