"""The replay in a terminal: pictures, the telemetry of each step, and keys to move around."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from mosaic.cli.commands.frames import make_renderer, open_terminal
from mosaic.cli.shared.terminal import printable
from mosaic.frames.terminal import END, HOME, LEFT, PAGE_DOWN, PAGE_UP, RIGHT, keys_in
from mosaic.front.human import count, decimal
from mosaic.front.run_words import action_text

if TYPE_CHECKING:
    from mosaic.contracts.replay import EpisodeRecording
    from mosaic.frames.terminal import Screen
    from mosaic.replay.simulation import SimulatedStep, Simulation

KEYS = "space pause · ←→ step · PgUp/PgDn 10 · 0-9 jump · +- speed · q quit"
_MOVES = {LEFT: -1, RIGHT: 1, PAGE_UP: -10, PAGE_DOWN: 10}
_QUIT = ("q", "Q", "\x04")
SLOWEST, FASTEST = 1 / 16, 64.0


@dataclass(frozen=True)
class Controls:
    steps: int  # of the episode
    fps: float  # steps a second at speed 1
    speed: float = 1.0
    place: float = 0.0  # in steps; between two of them the earlier one is shown
    is_playing: bool = True
    is_over: bool = False

    @property
    def step(self) -> int:
        return int(self.place)

    @property
    def is_at_end(self) -> bool:
        return self.step >= self.steps

    def pressed(self, key: str) -> Controls:
        if key in _QUIT:
            return replace(self, is_over=True)
        if key == " ":
            # At the end there is nothing to continue with: once more.
            place = 0.0 if self.is_at_end and not self.is_playing else self.place
            return replace(self, is_playing=not self.is_playing, place=place)
        if key in ("+", "=", "-", "_"):
            speed = self.speed * (2.0 if key in "+=" else 0.5)
            return replace(self, speed=min(max(speed, SLOWEST), FASTEST))
        if key in _MOVES:
            return replace(self.moved_to(self.step + _MOVES[key]), is_playing=False)
        if key in (HOME, END):
            return self.moved_to(self.steps if key == END else 0)
        if key.isdecimal():
            return self.moved_to(int(key) * self.steps // 10)
        return self

    def moved_to(self, step: int) -> Controls:
        return replace(self, place=float(min(max(step, 0), self.steps)))

    def advanced(self, seconds: float) -> Controls:
        """After so much time; it pauses at the end."""
        if not self.is_playing:
            return self
        place = self.place + max(0.0, seconds) * self.fps * self.speed
        if place >= self.steps:
            return replace(self, place=float(self.steps), is_playing=False)
        return replace(self, place=place)

    @property
    def until_next_s(self) -> float:
        """When the next step is due."""
        return (self.step + 1 - self.place) / (self.fps * self.speed)


_SEPARATOR = "  "


def telemetry_line(
    step: SimulatedStep,
    steps: int,
    return_so_far: float,
    note: str = "",
    value: float = math.nan,
) -> str:
    """What is to be noticed comes first: a narrow terminal cuts off what is last."""
    parts = [note] if note else []
    parts.append(f"step {count(step.index)}/{count(steps)}")
    if step.index:
        parts.append(f"action {action_text(step.action)}")
        parts.append(f"reward {decimal(step.recorded_reward)}{_simulated(step)}")
        parts.append(f"return {decimal(return_so_far)}")
    if not math.isnan(value):
        parts.append(f"value {decimal(value)}")
    if step.terminated:
        parts.append("terminated")
    if step.truncated:
        parts.append("cut off")
    return _SEPARATOR.join(parts)


def _simulated(step: SimulatedStep) -> str:
    is_same = decimal(step.reward) == decimal(step.recorded_reward)
    return "" if is_same else f" (simulated {decimal(step.reward)})"


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
        self._values = recording.values
        self._arguments = arguments
        self._controls = Controls(simulation.steps, arguments.fps, arguments.speed)
        self._shown = -1

    def run(self) -> None:
        """Until q is pressed or the terminal is gone."""
        from mosaic.frames.terminal import Screen, orderly_end

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
        at = step.index
        value = self._values[at] if at < len(self._values) else math.nan
        line = telemetry_line(step, controls.steps, self._returns[at], note, value)
        if not controls.is_playing:
            line += f"  · {KEYS}"
        return printable(line)

    def _colour(self) -> str:
        return _RED if self._simulation.difference else ""


def returns_of(recording: EpisodeRecording) -> list[float]:
    """The recorded return after each step, from 0 on."""
    return list(accumulate(recording.rewards[recording.lead :], initial=0.0))
