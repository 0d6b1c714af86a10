"""How large the interface is drawn: steps from 80 % to 200 %. Pure."""

from __future__ import annotations

STEPS = (80, 90, 100, 110, 125, 150, 175, 200)
USUAL = 100
SETTING = "zoom"


def larger(percent: int) -> int:
    return next((step for step in STEPS if step > percent), STEPS[-1])


def smaller(percent: int) -> int:
    return next((step for step in reversed(STEPS) if step < percent), STEPS[0])


def read_percent(saved: object) -> int:
    """What a settings file says; whatever else stands there means the usual size."""
    try:
        percent = int(str(saved))
    except ValueError:
        return USUAL
    return percent if STEPS[0] <= percent <= STEPS[-1] else USUAL


def scale_text(before: str, percent: int) -> str:
    """For Qt's variable: upon the scale that a person has set for all programs."""
    return f"{read_scale(before) * percent / 100:.4g}"


def read_scale(text: str) -> float:
    try:
        scale = float(text or 1)
    except ValueError:
        return 1.0
    return scale if 0.1 <= scale <= 16 else 1.0


def zoom_text(percent: int, drawn: int) -> str:
    """`drawn`: the size that is seen; it stays, where Qt cannot change it while it runs."""
    if percent == drawn:
        return f"The interface is drawn at {percent} %"
    return f"At {percent} % from the next start on: this Qt cannot change it while it runs"
