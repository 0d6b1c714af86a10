"""The live view of `mosaic frames`: a terminal that shows a run until somebody has enough."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mosaic.cli.terminal import is_terminal, printable, say

if TYPE_CHECKING:
    from mosaic.cli.run_fate import RunFate
    from mosaic.contracts.run_record import RunRecord
    from mosaic.fastlane.viewer import View, Viewer
    from mosaic.frames.drawing import Renderer
    from mosaic.frames.recording import Recording
    from mosaic.frames.screen import Screen


def watched_slots(arguments: argparse.Namespace) -> tuple[int, int]:
    """(first, how many)"""
    return (0, arguments.grid) if arguments.slot is None else (arguments.slot, 1)


def make_renderer(arguments: argparse.Namespace) -> Renderer:
    from mosaic.frames.styles import ask_for_sixel, chosen_style, is_worth_asking, renderer_for

    has_sixel = False
    if is_worth_asking(arguments.style, os.environ):
        with open_terminal() as fd:
            has_sixel = ask_for_sixel(fd)
    return renderer_for(chosen_style(arguments.style, os.environ, has_sixel), os.environ)


@contextlib.contextmanager
def open_terminal() -> Iterator[int]:
    """Standard output's terminal, to be read as well; standard input may be something else."""
    name = os.ttyname(sys.stdout.fileno())
    fd = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def line_of(view: View, arguments: argparse.Namespace, record: RunRecord, note: str = "") -> str:
    from mosaic.frames.hud import NO_PROGRESS, hud_line, slots_text

    slots = slots_text(*watched_slots(arguments), len(view.metrics))
    progress = record.progress if arguments.slot is None else NO_PROGRESS
    return printable(hud_line(view, slots, note, progress))


class LiveView:
    """Shows and records until the run is over, the recording is long enough, or q is pressed."""

    def __init__(
        self,
        viewer: Viewer,
        fate: RunFate,
        arguments: argparse.Namespace,
        recording: Recording | None,
    ) -> None:
        self._viewer, self._fate, self._arguments = viewer, fate, arguments
        self._recording = recording
        self._is_first = True

    def run(self) -> int:
        from mosaic.cli.failures import INTERRUPTED

        last: View | None = None
        status = 0
        try:
            last = self._shown() if is_terminal(sys.stdout) else self._unshown()
        except KeyboardInterrupt:
            status = INTERRUPTED
        finally:
            sentence = self._recording.close() if self._recording else ""
        if last is not None:
            say(line_of(last, self._arguments, self._fate.record))
        if sentence:
            # Ctrl-C is how a recording is ended.
            say(sentence)
            return 0
        return status

    def _shown(self) -> View:
        from mosaic.frames.screen import Screen, orderly_end
        from mosaic.frames.watching import watch

        renderer = make_renderer(self._arguments)
        with open_terminal() as fd:
            screen = Screen(renderer, fd)

            def show(view: View) -> bool:
                self._draw(screen, view)
                return self._is_enough(view)

            with orderly_end(screen), screen:
                return watch(self._viewer, 1 / self._arguments.fps, show, screen.is_quit)

    def _unshown(self) -> View:
        from mosaic.frames.watching import watch

        def wait(seconds: float) -> bool:
            time.sleep(max(0.0, seconds))
            return False

        return watch(self._viewer, 1 / self._arguments.fps, self._is_enough, wait)

    def _draw(self, screen: Screen, view: View) -> None:
        notes = [self._recording.note() if self._recording else "", self._fate.record.waiting]
        note = "  ".join(filter(None, notes))
        screen.show(view.picture, line_of(view, self._arguments, self._fate.record, note))

    def _is_enough(self, view: View) -> bool:
        from mosaic.fastlane.viewer import LIVE, PAUSED_NOW, STALLED
        from mosaic.frames.watching import COMING

        # The first picture may be one that was rendered for somebody else, long ago.
        is_stale, self._is_first = self._is_first and view.status in COMING, False
        if self._recording is not None:
            picture = None if is_stale else view.picture
            if self._recording.take(picture, time.monotonic()):
                return True
        is_going_on = view.status in (LIVE, PAUSED_NOW, STALLED)
        return self._fate.is_over or (self._fate.is_unknown and not is_going_on)
