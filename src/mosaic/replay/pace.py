"""How fast a stretch of steps is shown, and how many of its pictures are drawn. Pure."""

from __future__ import annotations

from typing import NamedTuple

# Below this single pictures are seen instead of a movement.
SMOOTH_PER_SECOND = 30.0
# Environments that want fewer are boards, on which one move after the other is looked at.
_BOARD_BELOW = 15.0
_FASTEST = 1000.0


class Pace(NamedTuple):
    steps_per_second: float
    stride: int  # every so many steps a picture is drawn
    times: float = 1.0  # as fast as the environment says

    @property
    def pictures_per_second(self) -> float:
        return self.steps_per_second / self.stride


def pace_of(render_fps: float | None) -> Pace:
    """`render_fps`: how many steps a second look natural, as the environment says.

    Movements are shown with at least 30 pictures a second, if need be a little faster than they
    are, and with fewer than 60, however fine the steps.
    """
    if render_fps is None or not 0 < render_fps <= _FASTEST:
        return Pace(SMOOTH_PER_SECOND, 1)
    if render_fps < _BOARD_BELOW:
        return Pace(float(render_fps), 1)
    steps_per_second = max(float(render_fps), SMOOTH_PER_SECOND)
    stride = int(steps_per_second // SMOOTH_PER_SECOND)
    return Pace(steps_per_second, stride, steps_per_second / render_fps)


class Extent(NamedTuple):
    """Which of a recording's actions make a stretch."""

    first: int  # is taken from the beginning on: all before only lead there
    stop: int  # the one after the last
    is_at_beginning: bool  # an episode begins with the first one

    @property
    def steps(self) -> int:
        return self.stop - self.first


def extent_of(lead: int, steps: int, least: int, most: int, runs_on: bool) -> Extent:
    """An episode that is short is shown with those before it, which are part of its lead.

    `runs_on`: the environment goes on with its next episode by itself. Where the first action is
    in the middle of an episode, pictures are drawn from the next one on.
    """
    stop = lead + min(steps, most)
    before = min(lead, max(0, least - steps)) if runs_on else 0
    return Extent(lead - before, stop, before == 0)
