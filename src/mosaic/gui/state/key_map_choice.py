"""Which keys go with which environment. Pure data, and the function that finds it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.gui.state.key_maps import Axis, Binding, KeyMap, NotPlayable, chords

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
