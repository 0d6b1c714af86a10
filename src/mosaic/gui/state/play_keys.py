"""PlayKeys: presses and releases become actions, in the order to send them. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from mosaic.gui.state.key_maps import KeyMap, NotPlayable

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


class PlayKeys:
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
