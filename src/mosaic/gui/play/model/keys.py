"""Keys: what they mean to an environment, which one has which, how presses become actions. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

_OPPOSITES = (("left", "right"), ("up", "down"))
KEY_SIGNS = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "space": "Space",
    "enter": "Enter",
    "esc": "Esc",
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
    fps: float | None = None  # None: in real time
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


_VERSION = re.compile(r"-v\d+$")
_DISCRETE = re.compile(r"Discrete\((\d+)\)")
_ATARI_WORDS = (
    ("UP", "up"),
    ("DOWN", "down"),
    ("LEFT", "left"),
    ("RIGHT", "right"),
    ("FIRE", "space"),
)
_DIGITS = "1234567890"

_SIDEWAYS = Binding(("left", "right"), "push left, push right")
_TORQUE = Binding(("left", "right"), "torque to the left, to the right")
_WALK = Binding(("left", "down", "right", "up"), "walk")

_CART_POLE = KeyMap(
    (_SIDEWAYS,),
    chords(left=0, right=1),
    # It has no action that does nothing: pushes in turn cancel each other.
    idle=(0, 1),
    fps=25,
    note="without a key, pushes to both sides alternate",
)
_MAPS: Mapping[str, KeyMap] = {
    "CartPole": _CART_POLE,
    "MountainCar": KeyMap((_SIDEWAYS,), chords(left=0, right=2), idle=(1,), fps=30),
    "Acrobot": KeyMap((_TORQUE,), chords(left=0, right=2), idle=(1,), fps=15),
    "MountainCarContinuous": KeyMap(
        (_SIDEWAYS,), axes=(Axis({"left": -1.0, "right": 1.0}),), idle=([0.0],), fps=30
    ),
    "Pendulum": KeyMap(
        # A positive torque turns it counter-clockwise.
        (_TORQUE,),
        axes=(Axis({"left": 2.0, "right": -2.0}),),
        idle=([0.0],),
        fps=20,
    ),
    "LunarLander": KeyMap(
        (
            Binding(("up",), "main engine"),
            Binding(("left", "right"), "steer left, steer right"),
        ),
        chords(up=2, left=1, right=3),
        idle=(0,),
        fps=30,
    ),
    "LunarLanderContinuous": KeyMap(
        (
            Binding(("up",), "main engine"),
            Binding(("left", "right"), "steer left, steer right"),
        ),
        axes=(Axis({"up": 1.0}), Axis({"left": -1.0, "right": 1.0})),
        idle=([0.0, 0.0],),
        fps=30,
    ),
    "BipedalWalker": KeyMap(
        (
            Binding(("q", "a"), "first hip"),
            Binding(("w", "s"), "first knee"),
            Binding(("u", "j"), "second hip"),
            Binding(("i", "k"), "second knee"),
        ),
        axes=tuple(Axis({more: 1.0, less: -1.0}) for more, less in ("qa", "ws", "uj", "ik")),
        idle=([0.0, 0.0, 0.0, 0.0],),
        fps=30,
        note="four joints at once: expect to fall",
    ),
    "CarRacing": KeyMap(
        (
            Binding(("left", "right"), "steer"),
            Binding(("up",), "gas"),
            Binding(("down",), "brake"),
        ),
        axes=(Axis({"left": -0.6, "right": 0.6}), Axis({"up": 0.7}), Axis({"down": 0.7})),
        idle=([0.0, 0.0, 0.0],),
        fps=40,
    ),
    "FrozenLake": KeyMap((_WALK,), chords(left=0, down=1, right=2, up=3), is_turn_based=True),
    "CliffWalking": KeyMap((_WALK,), chords(up=0, right=1, down=2, left=3), is_turn_based=True),
    "Taxi": KeyMap(
        (
            Binding(("left", "down", "right", "up"), "drive"),
            Binding(("space",), "pick up"),
            Binding(("enter",), "drop off"),
        ),
        chords(down=0, up=1, right=2, left=3, space=4, enter=5),
        is_turn_based=True,
    ),
    "Blackjack": KeyMap(
        (Binding(("h",), "hit: take a card"), Binding(("s",), "stick")),
        chords(s=0, h=1),
        is_turn_based=True,
    ),
}
_SAME = {
    "FrozenLake8x8": "FrozenLake",
    "CliffWalkingSlippery": "CliffWalking",
    "BipedalWalkerHardcore": "BipedalWalker",
}
_GRID_KEYS = ("left", "right", "up", "p", "d", "space", "enter")
_GRID_BINDINGS = (
    (Binding(("left", "right"), "turn"), 2),
    (Binding(("up",), "forward"), 3),
    (Binding(("p",), "pick up"), 4),
    (Binding(("d",), "drop"), 5),
    (Binding(("space",), "toggle: open, close"), 6),
    (Binding(("enter",), "done"), 7),
)


def key_map_of(
    env_id: str, family: str = "", action_space: str = "", action_meanings: Sequence[str] = ()
) -> KeyMap | NotPlayable:
    """`action_space` as the catalogue writes it: "Discrete(7)"; meanings are those of a game."""
    name = _VERSION.sub("", env_id.rpartition(":")[2])
    if (found := _MAPS.get(_SAME.get(name, name))) is not None:
        return found
    number = _DISCRETE.search(action_space)
    actions = int(number[1]) if number else None
    if family in ("minigrid", "babyai"):
        return _grid(actions or len(_GRID_KEYS))
    if family == "atari":
        return atari_map(action_meanings)
    if actions is not None and actions <= len(_DIGITS):
        return _digits(actions)
    return NotPlayable(_why_not(env_id, family, action_space))


def action_space_text(space: Any) -> str:
    """As the catalogue writes it, from what a worker told of it."""
    if isinstance(space, Mapping) and space.get("type") == "discrete":
        return f"Discrete({space.get('n')})"
    return "Box" if isinstance(space, Mapping) and space.get("type") == "continuous" else ""


def atari_map(meanings: Sequence[str]) -> KeyMap:
    """From the buttons of the game. Before they are known, the console does nothing."""
    found: dict[frozenset[str], int] = {}
    for action, meaning in enumerate(meanings):
        chord = frozenset(key for word, key in _ATARI_WORDS if word in meaning.upper())
        if chord:
            found[chord] = action
    used = frozenset(key for chord in found for key in chord)
    arrows = tuple(key for key in ("left", "down", "right", "up") if key in used)
    bindings = [Binding(arrows, "move")] if arrows else []
    if "space" in used:
        bindings.append(Binding(("space",), "fire"))
    return KeyMap(tuple(bindings), found, idle=(0,))


def _grid(actions: int) -> KeyMap:
    keys = {frozenset([key]): action for action, key in enumerate(_GRID_KEYS[:actions])}
    shown = tuple(binding for binding, needed in _GRID_BINDINGS if needed <= actions)
    return KeyMap(shown, keys, is_turn_based=True)


def _digits(actions: int) -> KeyMap:
    keys = _DIGITS[:actions]
    bindings = tuple(Binding((key,), f"action {place}") for place, key in enumerate(keys))
    return KeyMap(
        bindings,
        {frozenset([key]): place for place, key in enumerate(keys)},
        is_turn_based=True,
    )


def _why_not(env_id: str, family: str, action_space: str) -> str:
    if family in ("mujoco", "dm_control") or action_space.startswith("Box"):
        return f"{env_id} is moved by several motors at once: a keyboard cannot do that."
    if action_space:
        return f"{env_id} takes actions of the kind {action_space}, for which there are no keys."
    return f"What actions {env_id} takes is not known here, so there are no keys for it."


# The key that pauses: the first one the game itself does not need.
_PAUSE_KEYS = ("space", "p", "k", "o")


class PlayAction(StrEnum):
    """What the page itself does with a key."""

    PAUSE = "pause"
    STEP = "step"
    SLOWER = "slower"
    FASTER = "faster"
    RESET = "reset"
    NEW_SEED = "new_seed"
    TAKE_OVER = "take_over"
    KEYS = "keys"
    END = "end"


def page_keys(keys: KeyMap | NotPlayable | None, is_acting: bool) -> dict[str, PlayAction]:
    """The page's own keys. `is_acting`: the person may act, so the game's keys come first."""
    taken = keys.keys if isinstance(keys, KeyMap) and is_acting else frozenset()
    found = {
        ".": PlayAction.STEP,
        "-": PlayAction.SLOWER,
        "+": PlayAction.FASTER,
        "=": PlayAction.FASTER,
        "r": PlayAction.RESET,
        "n": PlayAction.NEW_SEED,
        "t": PlayAction.TAKE_OVER,
        "?": PlayAction.KEYS,
        "esc": PlayAction.END,
    }
    found[next(key for key in _PAUSE_KEYS if key not in taken)] = PlayAction.PAUSE
    return {key: action for key, action in found.items() if key not in taken}


_PAGE_WORDS = {
    PlayAction.PAUSE: "Pause, continue",
    PlayAction.STEP: "One step",
    PlayAction.SLOWER: "Slower",
    PlayAction.FASTER: "Faster",
    PlayAction.RESET: "New episode",
    PlayAction.NEW_SEED: "New episode with another seed",
    PlayAction.TAKE_OVER: "Take over from the policy, hand back",
    PlayAction.KEYS: "Show the keys of the game",
    PlayAction.END: "End the session",
}


def key_rows() -> tuple[tuple[str, str], ...]:
    """The page's own keys as people read them; a game that needs one of them itself comes first."""
    keys: dict[PlayAction, str] = {}
    for key, action in page_keys(None, is_acting=False).items():
        keys.setdefault(action, key_sign(key))
    keys[PlayAction.END] += f" {keys[PlayAction.END]}"  # the first press asks, the second one ends
    return tuple((text, keys[action]) for action, text in _PAGE_WORDS.items())


class PlayKeys:
    """Presses and releases become actions, in the order to send them. Pure."""

    def __init__(self, key_map: KeyMap) -> None:
        self.key_map = key_map
        self._held: set[str] = set()
        self._last: Any = None  # what was handed out last
        self._waiting: list[Any] = []

    @property
    def held(self) -> frozenset[str]:
        return frozenset(self._held)

    def press(self, key: str) -> bool:
        """Whether it is a key of the game. What is held already changes nothing."""
        if key not in self.key_map.keys:
            return False
        if key not in self._held:
            self._held.add(key)
            if self.key_map.is_turn_based:
                self._waiting.append(self.key_map.action({key}))
            else:
                self._change()
        return True

    def release(self, key: str) -> bool:
        if key not in self._held:
            return key in self.key_map.keys
        self._held.discard(key)
        if not self.key_map.is_turn_based:
            self._change()
        return True

    def release_all(self) -> None:
        had = bool(self._held)
        self._held.clear()
        if had and not self.key_map.is_turn_based:
            self._change()

    def take(self) -> list[dict[str, Any]]:
        """The commands since the last time; None as an action: nothing is held."""
        waiting, self._waiting = self._waiting, []
        return [{"cmd": "action", "action": action} for action in waiting]

    def _change(self) -> None:
        action = self.key_map.action(self._held)
        # A short press stays in: the worker makes at least one step of it.
        previous = self._waiting[-1] if self._waiting else self._last
        if action != previous:
            self._waiting.append(action)
            self._last = action
