"""Notices: one sentence at the lower edge of the window, perhaps with something to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from mosaic.errors import MosaicError


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


def _sentence(hint: str) -> str:
    return hint[:1].upper() + hint[1:]
