"""Where a tool tip stands: beside what it is about, never where the pointer goes next. No Qt."""

from __future__ import annotations

from typing import NamedTuple

_GAP = 6
# Of something larger the pointer shows a part: the tip stays near it.
_HIGHEST_CONTROL = 64


class Box(NamedTuple):
    left: int
    top: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def bottom(self) -> int:
        return self.top + self.height


def tip_place(control: Box, tip: Box, screen: Box) -> tuple[int, int]:
    """Above the control, since what is read next stands below; below it where there is no room."""
    if control.height > _HIGHEST_CONTROL:
        return tip.left, tip.top
    top = control.top - tip.height - _GAP
    if top < screen.top:
        top = control.bottom + _GAP
    left = max(screen.left, min(control.left, screen.right - tip.width))
    return left, top
