"""The keys of the workbench as rows for people to read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NUMBERED = re.compile(r"^(.*?)(\d)$")


@dataclass(frozen=True)
class ShortcutRow:
    menu: str
    title: str
    keys: str


def shortcut_rows(
    commands: Iterable[tuple[str, str, str]], elsewhere: str
) -> dict[str, list[ShortcutRow]]:
    """By menu, from (menu, title, keys); "Tab 1" to "Tab 9" become one row.

    `elsewhere` is the heading of commands that are in no menu.
    """
    found: dict[str, list[ShortcutRow]] = {}
    for menu, title, keys in commands:
        if not keys:
            continue
        rows = found.setdefault(menu or elsewhere, [])
        before = rows[-1] if rows else None
        joined = None if before is None else _joined(before, title, keys)
        if joined is not None:
            rows[-1] = joined
        else:
            rows.append(ShortcutRow(menu or elsewhere, title, keys))
    return found


def _joined(before: ShortcutRow, title: str, keys: str) -> ShortcutRow | None:
    """One row for two that differ in a number at the end only."""
    first_title, first_keys = before.title.split(" … ")[0], before.keys.split(" … ")[0]
    for old, new in ((first_title, title), (first_keys, keys)):
        one, other = _NUMBERED.match(old), _NUMBERED.match(new)
        if one is None or other is None or one[1] != other[1]:
            return None
    numbered = _NUMBERED.match(title)
    assert numbered is not None
    return ShortcutRow(before.menu, f"{first_title} … {numbered[2]}", f"{first_keys} … {keys}")


def columns(lengths: dict[str, int], number: int = 2) -> list[list[str]]:
    """Groups of these lengths in columns of nearly the same height, their order kept."""
    height = sum(lengths.values()) + 2 * len(lengths)  # a group has a heading
    found: list[list[str]] = [[] for _ in range(number)]
    filled = 0
    for name, length in lengths.items():
        middle = filled + (length + 2) / 2
        found[min(number - 1, int(middle * number / max(1, height)))].append(name)
        filled += length + 2
    return found
