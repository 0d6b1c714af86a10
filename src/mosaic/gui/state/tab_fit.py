"""Which tabs of a bar have room. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def shown_tabs(widths: Sequence[int], current: int, room: int, menu_width: int) -> tuple[bool, ...]:
    """For each tab whether it is shown: as many as fit, from the left, and always the current one.

    Where not all fit, `menu_width` is kept for the button that lists the rest.
    """
    if sum(widths) <= room:
        return (True,) * len(widths)
    left = room - menu_width
    if 0 <= current < len(widths):
        left -= widths[current]
    shown = []
    is_full = False
    for index, width in enumerate(widths):
        if index == current:
            shown.append(True)
            continue
        # Without gaps: what comes after the first that does not fit is in the menu as well.
        is_full = is_full or width > left
        shown.append(not is_full)
        left -= 0 if is_full else width
    return tuple(shown)
