"""Which columns the table has at a width, and how wide each is."""

from __future__ import annotations

from mosaic.gui.state.run_rows import Column

_WIDTHS = {
    Column.COLOUR: 26,
    Column.STATE: 104,
    Column.NAME: 176,
    Column.ENVIRONMENT: 124,
    Column.PROGRESS: 120,
    Column.ELAPSED: 78,
    Column.REMAINING: 78,
    Column.RETURN: 78,
    Column.SPEED: 78,
    Column.EPISODES: 78,
    Column.STARTED: 96,
    Column.ACTIONS: 92,
}
# The first goes first when there is too little room; what is not listed stays.
_GIVING_WAY = (
    *(Column.EPISODES, Column.ENVIRONMENT, Column.STARTED, Column.REMAINING),
    *(Column.SPEED, Column.ELAPSED, Column.RETURN),
)
# How what is left over is shared out.
_SHARES = {Column.NAME: 5, Column.ENVIRONMENT: 2, Column.PROGRESS: 3}


def column_widths(room: int) -> dict[Column, int]:
    """Without those that there is no room for; together they fill it."""
    shown = dict(_WIDTHS)
    for column in _GIVING_WAY:
        if sum(shown.values()) <= room:
            break
        del shown[column]
    left = room - sum(shown.values())
    if left < 0:
        shown[Column.NAME] = max(80, shown[Column.NAME] + left)
        return shown
    shares = {column: share for column, share in _SHARES.items() if column in shown}
    whole = sum(shares.values())
    for column, share in shares.items():
        shown[column] += left * share // whole
    shown[Column.NAME] += room - sum(shown.values())
    return shown
