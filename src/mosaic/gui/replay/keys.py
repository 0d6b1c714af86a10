"""The keys of the replay page as people read them; what they do is in `page.py`. No Qt."""

from __future__ import annotations

KEY_ROWS: tuple[tuple[str, str], ...] = (
    ("Play, pause", "Space"),
    ("One step back, forth", ", ."),
    ("To the first, last step", "Home End"),
    ("Slower, faster", "- +"),
    ("Play in a loop", "L"),
    ("Next, previous best episode", "B Shift+B"),
    ("Next, previous worst episode", "W Shift+W"),
    ("Another episode beside it", "D"),
    ("Show or hide the strips", "S"),
)
