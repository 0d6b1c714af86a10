"""What a terminal sends when keys are pressed, as names. Pure."""

from __future__ import annotations

import re

LEFT, RIGHT, UP, DOWN = "left", "right", "up", "down"
HOME, END, PAGE_UP, PAGE_DOWN = "home", "end", "page up", "page down"

# Terminals differ in what they send for the same key.
_SEQUENCES = {
    b"A": UP,
    b"B": DOWN,
    b"C": RIGHT,
    b"D": LEFT,
    b"H": HOME,
    b"F": END,
    b"1~": HOME,
    b"4~": END,
    b"5~": PAGE_UP,
    b"6~": PAGE_DOWN,
    b"7~": HOME,
    b"8~": END,
}
_KEY = re.compile(rb"\x1b[\[O]([0-9;]*[A-Za-z~])|([^\x1b])|\x1b", re.DOTALL)


def keys_in(typed: bytes) -> list[str]:
    """Names of the keys, in their order; characters are their own names, others are left out."""
    keys = []
    for match in _KEY.finditer(typed):
        sequence, character = match[1], match[2]
        if sequence is not None:
            keys.append(_SEQUENCES.get(sequence, ""))
        elif character is not None and character.isascii():
            keys.append(character.decode())
    return [key for key in keys if key]
