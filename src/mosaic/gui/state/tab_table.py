"""Tables of the tabs as plain text: columns, rows, and what has changed between two of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """What a row says by its colour, besides its words."""

    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    MUTED = "muted"


@dataclass(frozen=True)
class Column:
    title: str
    is_number: bool = False
    is_wide: bool = False  # takes the room that the others leave; long texts are cut
    is_link: bool = False  # what it says is done when it is clicked
    help: str = ""


@dataclass(frozen=True)
class Row:
    key: Hashable
    cells: tuple[str, ...]
    tone: Tone = Tone.PLAIN
    help: str = ""


@dataclass(frozen=True)
class Growth:
    """How rows became others: so many in front of the old ones, so many gone from their end."""

    added: int
    removed: int


def growth(old: Sequence[Row], new: Sequence[Row]) -> Growth | None:
    """None where the new rows do not go on from the old ones."""
    if not old or not new:
        return None
    added = next((index for index, row in enumerate(new) if row.key == old[0].key), None)
    if added is None:
        return None
    kept = len(new) - added
    if kept > len(old) or [row.key for row in new[added:]] != [row.key for row in old[:kept]]:
        return None
    return Growth(added, len(old) - kept)
