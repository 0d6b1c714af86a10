"""The controls of the replay: where it stands, how fast it goes, and what keys do to it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mosaic.frames.keys import END, HOME, LEFT, PAGE_DOWN, PAGE_UP, RIGHT

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
            # At the end there is nothing to go on with: once more.
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
