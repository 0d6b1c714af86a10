"""KeyMap: what held keys mean to an environment. Pure: keys have names, such as "left"."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_OPPOSITES = (("left", "right"), ("up", "down"))
KEY_SIGNS = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "space": "Space",
    "enter": "Enter",
}


class Binding(NamedTuple):
    """A row of the overlay: keys, and what they do."""

    keys: tuple[str, ...]
    text: str

    @property
    def signs(self) -> tuple[str, ...]:
        return tuple(key_sign(key) for key in self.keys)


class Axis(NamedTuple):
    """One number of a continuous action: what each key makes of it."""

    keys: Mapping[str, float]
    neutral: float = 0.0

    def value(self, held: Set[str]) -> float:
        """Opposite keys cancel each other."""
        values = [value for key, value in self.keys.items() if key in held]
        if not values:
            return self.neutral
        if len({value > self.neutral for value in values}) > 1:
            return self.neutral
        return max(values, key=lambda value: abs(value - self.neutral))


@dataclass(frozen=True)
class KeyMap:
    """Either `chords` (sets of keys: a discrete action) or `axes` (a continuous one)."""

    bindings: tuple[Binding, ...]
    chords: Mapping[frozenset[str], int] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    # Nothing happens between two keys: each press is one step.
    is_turn_based: bool = False
    # Taken in turn while no key is held; empty: there is no way to do nothing.
    idle: tuple[Any, ...] = ()
    fps: float | None = None  # None: as in real life
    note: str = ""

    @property
    def keys(self) -> frozenset[str]:
        if self.axes:
            return frozenset(key for axis in self.axes for key in axis.keys)
        return frozenset(key for chord in self.chords for key in chord)

    def action(self, held: Set[str]) -> Any:
        """What these keys mean together; None: nothing."""
        mine = held & self.keys
        if not mine:
            return None
        if self.axes:
            return [axis.value(mine) for axis in self.axes]
        wanted = without_opposites(mine)
        fitting = [chord for chord in self.chords if chord <= wanted]
        if not fitting:
            return None
        return self.chords[max(fitting, key=len)]


@dataclass(frozen=True)
class NotPlayable:
    """Why no keyboard will do."""

    reason: str


def without_opposites(held: Set[str]) -> frozenset[str]:
    gone = {key for pair in _OPPOSITES if held >= set(pair) for key in pair}
    return frozenset(held - gone)


def key_sign(key: str) -> str:
    return KEY_SIGNS.get(key, key.upper())


def chords(**keys: int) -> dict[frozenset[str], int]:
    """One key each."""
    return {frozenset([key]): action for key, action in keys.items()}
