"""What was done in an episode, in words. Pure."""

from __future__ import annotations

from typing import Any

from mosaic.front.human import decimal

_LONGEST_ACTION = 40


def action_text(action: Any) -> str:
    """Numbers of an array with four digits; cut where it is long."""
    if hasattr(action, "tolist"):
        action = action.tolist()
    text = _short(action)
    return text if len(text) <= _LONGEST_ACTION else f"{text[: _LONGEST_ACTION - 1]}…"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return decimal(value)
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(_short, value))}]"
    return str(value)
