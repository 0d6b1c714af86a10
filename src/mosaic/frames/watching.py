"""The loop of everything that watches: look at the run, show, wait, until there is an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from mosaic.errors import RunStateError
from mosaic.fastlane.settings import LONGEST_PAUSE_S
from mosaic.fastlane.tiling import Picture
from mosaic.fastlane.viewer import BROKEN, ENDED, LIVE, STALLED, View

POLL_S = 0.02
# However dear rendering is, a run shows a frame this often.
PATIENCE_S = LONGEST_PAUSE_S + 1.0
# A frame can be expected. A run that nobody watched looks stalled until it notices us.
COMING = (LIVE, STALLED)
# After the first new frame: time for the other environments to show theirs.
SETTLE_S = 0.25


class FrameSource(Protocol):
    """A `mosaic.fastlane.viewer.Viewer`."""

    def poll(self) -> View: ...


def watch(
    source: FrameSource,
    interval_s: float,
    show: Callable[[View], bool],
    wait: Callable[[float], bool],
    clock: Callable[[], float] = time.monotonic,
) -> View:
    """The last view, once `show` says that it was the last, or `wait` that somebody has enough."""
    due = clock()
    while True:
        view = source.poll()
        if show(view):
            return view
        # A late picture does not make the next one come sooner.
        due = max(due + interval_s, clock())
        if wait(due - clock()):
            return view


def current_picture(
    source: FrameSource,
    wait_s: float,
    is_over: Callable[[], bool],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Picture, View]:
    """A frame rendered for us; the last one there is where none will come. Raises RunStateError.

    What lies in the segment may have been rendered for somebody who watched an hour ago.
    """
    started = clock()
    view = source.poll()
    stored = view.picture
    while True:
        if stored is not None and (view.status not in COMING or clock() > started + PATIENCE_S):
            return stored, view
        if view.status == BROKEN:
            raise RunStateError(view.message, hint="a run of another version of MOSAIC?")
        if is_over() or view.status == ENDED:
            raise RunStateError("The run ended before it showed a frame")
        if clock() > started + wait_s:
            raise RunStateError(
                f"No frame within {wait_s:g} s: {view.message or 'its environments show none'}",
                hint="`mosaic show` says what the run is doing; only an environment that renders "
                'to "rgb_array" can be seen',
            )
        sleep(POLL_S)
        view = source.poll()
        if view.picture is not None:
            return _settled(source, view.picture, view, clock, sleep)


def _settled(
    source: FrameSource,
    picture: Picture,
    view: View,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> tuple[Picture, View]:
    deadline = clock() + SETTLE_S
    while clock() < deadline and view.status in COMING:
        sleep(POLL_S)
        view = source.poll()
        picture = view.picture or picture
    return picture, view
