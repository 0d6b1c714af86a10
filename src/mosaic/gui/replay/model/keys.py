"""The keys of the replay page, as people read them. The overlay of keys lists these."""

from __future__ import annotations

TITLE = "Replay"
# What a key does, and how it is written.
KEYS = (
    ("Play or pause", "Space"),
    ("One step back, forth", ", ."),
    ("To the beginning, to the end", "Home End"),
    ("Slower, faster", "− +"),
    ("Again and again", "L"),
    ("Next best episode, back again", "B Shift+B"),
    ("Next worst episode, back again", "W Shift+W"),
    ("Another episode beside it", "D"),
    ("Strips of rewards, actions and observations", "S"),
    ("Leave", "Esc"),
)
