"""The replay in a terminal: pictures, the telemetry of each step, keys to go where one likes."""

from __future__ import annotations

import argparse
import time
from itertools import accumulate
from typing import TYPE_CHECKING

from mosaic.cli.live_frames import make_renderer, open_terminal
from mosaic.cli.replay_controls import KEYS, Controls
from mosaic.cli.replay_line import telemetry_line
from mosaic.cli.terminal import printable
from mosaic.frames.keys import keys_in

if TYPE_CHECKING:
    from mosaic.contracts.replay import EpisodeRecording
    from mosaic.frames.screen import Screen
    from mosaic.replay.simulation import Simulation

_RED = "31"
# Somebody who waits for a picture longer than this wants to know why.
_FAR = 200
_PAUSED_WAIT_S = 0.5  # between two looks at the size of the terminal


class ReplayPlayer:
    def __init__(
        self, simulation: Simulation, recording: EpisodeRecording, arguments: argparse.Namespace
    ) -> None:
        self._simulation = simulation
        self._returns = returns_of(recording)
        self._arguments = arguments
        self._controls = Controls(simulation.steps, arguments.fps, arguments.speed)
        self._shown = -1

    def run(self) -> None:
        """Until q is pressed or the terminal is gone."""
        from mosaic.frames.screen import Screen, orderly_end

        renderer = make_renderer(self._arguments)
        with open_terminal() as fd:
            screen = Screen(renderer, fd)
            with orderly_end(screen), screen:
                self._play(screen)

    def _play(self, screen: Screen) -> None:
        shown_at = time.monotonic()
        while not self._controls.is_over:
            self._show(screen)
            controls = self._controls
            wait_s = controls.until_next_s if controls.is_playing else _PAUSED_WAIT_S
            typed = screen.typed(max(0.0, wait_s - (time.monotonic() - shown_at)))
            if typed is None:
                return
            now = time.monotonic()
            self._controls = self._controls.advanced(now - shown_at)
            shown_at = now
            for key in keys_in(typed):
                self._controls = self._controls.pressed(key)

    def _show(self, screen: Screen) -> None:
        step, simulation = self._controls.step, self._simulation
        if step == self._shown:
            screen.show(None, self._line(), self._colour())
            return
        if abs(step - simulation.step.index) > _FAR:
            screen.show(None, f"going to step {step:,} of {simulation.steps:,} …")
        picture = simulation.seek(step)
        self._shown = step
        if simulation.step.index < step:
            # The simulated episode ended before the recorded one: there is nothing behind that.
            self._shown = simulation.step.index
            self._controls = self._controls.moved_to(self._shown).advanced(0)
            if self._controls.is_playing:
                self._controls = self._controls.pressed(" ")
        screen.show(picture, self._line(), self._colour())

    def _line(self) -> str:
        controls, step = self._controls, self._simulation.step
        speed = "" if controls.speed == 1 else f" x{controls.speed:g}"
        note = f"{'▶' if controls.is_playing else '⏸'}{speed}"
        if self._simulation.difference:
            note += f"  {self._simulation.difference}"
        line = telemetry_line(step, controls.steps, self._returns[step.index], note)
        if not controls.is_playing:
            line += f"  · {KEYS}"
        return printable(line)

    def _colour(self) -> str:
        return _RED if self._simulation.difference else ""


def returns_of(recording: EpisodeRecording) -> list[float]:
    """The recorded return after each step, from 0 on."""
    return list(accumulate(recording.rewards[recording.lead :], initial=0.0))
