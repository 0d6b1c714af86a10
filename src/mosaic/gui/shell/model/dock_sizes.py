"""How large the docks are in a window of a given size, until somebody drags them."""

from __future__ import annotations

from typing import NamedTuple


class DockSizes(NamedTuple):
    left: int
    right: int
    bottom: int


# In the smallest window that everything must fit into; of what is more, each dock gets a share.
_SMALL = (1280, 800)
_LEAST = DockSizes(300, 380, 220)
_MOST = DockSizes(400, 820, 420)
_SHARES = (0.08, 0.30, 0.28)
_ROUGHLY = 8  # pixels; layouts round, people do not drag so little


def dock_sizes(width: int, height: int) -> DockSizes:
    """A form needs little more room in a large window; curves and tables can use it."""
    across, down = max(0, width - _SMALL[0]), max(0, height - _SMALL[1])
    wanted = (
        least + int(share * more)
        for least, share, more in zip(_LEAST, _SHARES, (across, across, down), strict=True)
    )
    return DockSizes(*(min(size, most) for size, most in zip(wanted, _MOST, strict=True)))


def adjusted_sizes(now: DockSizes, before: DockSizes, after: DockSizes) -> DockSizes:
    """A dock that has the size it was given gets a new one; one that was dragged stays."""
    pairs = zip(now, before, after, strict=True)
    return DockSizes(
        *(new if abs(is_now - old) <= _ROUGHLY else is_now for is_now, old, new in pairs)
    )
