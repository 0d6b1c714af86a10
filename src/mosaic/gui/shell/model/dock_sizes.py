"""How large the docks are in a window of a given size, until somebody drags them, and when they
fold: what stands side by side in a wide window takes turns in a narrow one."""

from __future__ import annotations

from typing import NamedTuple


class DockSizes(NamedTuple):
    left: int
    right: int
    bottom: int


# Three columns have room in a window that is at least this wide.
_THREE_COLUMNS = 1160
# In the smallest window with three columns; of what is more, each dock gets a share.
_SMALL = (1280, 800)
_LEAST = DockSizes(300, 380, 220)
_MOST = DockSizes(400, 820, 420)
_SHARES = (0.08, 0.30, 0.28)
# The side that form and curves share, and the table in a window that is lower than usual.
_SHARED_SHARE, _SHARED_LEAST, _SHARED_MOST = 0.38, 340, 380
_LOWEST_TABLE = 132
_ROUGHLY = 8  # pixels; layouts round, people do not drag so little


def is_narrow(width: int) -> bool:
    """Whether the form and the run's tabs share one side."""
    return width < _THREE_COLUMNS


def dock_sizes(width: int, height: int) -> DockSizes:
    """A form needs little more room in a large window; curves and tables can use it."""
    across, down = max(0, width - _SMALL[0]), max(0, height - _SMALL[1])
    wanted = (
        least + int(share * more)
        for least, share, more in zip(_LEAST, _SHARES, (across, across, down), strict=True)
    )
    found = DockSizes(*(min(size, most) for size, most in zip(wanted, _MOST, strict=True)))
    if is_narrow(width):
        shared = int(_SHARED_SHARE * width)
        found = found._replace(left=min(max(shared, _SHARED_LEAST), _SHARED_MOST))
    if height < _SMALL[1]:
        lower = _LEAST.bottom - (_SMALL[1] - height) // 3
        found = found._replace(bottom=max(lower, _LOWEST_TABLE))
    return found


def adjusted_sizes(now: DockSizes, before: DockSizes, after: DockSizes) -> DockSizes:
    """A dock that has the size it was given gets a new one; one that was dragged stays."""
    pairs = zip(now, before, after, strict=True)
    return DockSizes(
        *(new if abs(is_now - old) <= _ROUGHLY else is_now for is_now, old, new in pairs)
    )
