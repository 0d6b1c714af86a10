"""The page of charts: how many stand beside each other, and which ones a filter asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

MOST_COLUMNS = 4
# So many charts are asked for at once; a filter that fits more says so.
MOST_FILTERED = 24
_NARROWEST = 360


def columns_for(width: int, chosen: int, charts: int) -> int:
    """`chosen` by the person; 0 is for as many as have room."""
    fitting = max(1, min(MOST_COLUMNS, width // _NARROWEST))
    return max(1, min(chosen or fitting, charts))


def columns_from(value: object) -> int:
    """A setting as it was stored; whatever makes no sense is automatic."""
    text = str(value)
    return int(text) if text.isdecimal() and len(text) == 1 and int(text) <= MOST_COLUMNS else 0


@dataclass(frozen=True)
class Filtered:
    names: tuple[str, ...]
    remark: str


def filtered(names: Iterable[str], fits: Callable[[str], bool]) -> Filtered:
    """In the order given; the first few where many fit."""
    found = tuple(name for name in names if fits(name))
    if not found:
        return Filtered((), "No metric fits this filter.")
    shown = found[:MOST_FILTERED]
    if len(shown) == len(found):
        return Filtered(shown, "")
    return Filtered(shown, f"{len(shown)} of {len(found)} charts that fit: say more to see others.")


def substring(text: str) -> Callable[[str], bool]:
    """Every word somewhere in the name, in any case."""
    words = text.casefold().split()
    return lambda name: all(word in name.casefold() for word in words)
