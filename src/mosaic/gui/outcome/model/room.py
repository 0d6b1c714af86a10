"""Who has the height of the page: what is to be seen, and the last lines of the log."""

from __future__ import annotations

from typing import NamedTuple

_TAIL_SHARE = 3  # of what is to be seen and the lines together, the lines have one part of three


class Lines(NamedTuple):
    """Heights of the log's last lines: of a few, and of all."""

    least: int = 0
    whole: int = 0


class Shares(NamedTuple):
    lines: int
    seen: int  # 0: there is no room for it


def shares(room: int, lines: Lines, least_seen: int, *, gives_way: bool) -> Shares:
    """`room`: what all the rest leaves over, which is less than nothing in a low window.

    `least_seen` is 0 where there is nothing to be seen. `gives_way`: why a run failed matters more.
    """
    is_short = room < lines.least + least_seen
    if not least_seen or (is_short and gives_way):
        return Shares(max(lines.least, min(lines.whole, room)), 0)
    fair = min(lines.whole, room // _TAIL_SHARE, room - least_seen)
    height = max(lines.least, fair)
    return Shares(height, max(least_seen, room - height))
