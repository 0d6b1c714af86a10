"""The line below a picture: what the run is doing, and its numbers. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.viewer import LIVE, View

SEPARATOR = "  "


def hud_line(view: View, slots: str, note: str = "") -> str:
    """`slots` names what is watched, `note` says what else goes on."""
    parts = [view.status]
    if view.message and view.status != LIVE:
        parts[0] += f": {view.message}"
    if note:
        parts.append(note)  # before the numbers: a narrow terminal cuts off what is last
    if any(each.flags & EVALUATING for each in view.metrics):
        parts.append("(Eval)")
    if view.metrics:
        parts += [slots, *_numbers(view.metrics)]
    return SEPARATOR.join(parts)


def slots_text(first_slot: int, slot_count: int, shown: int) -> str:
    """`env 2`, or `3 envs` of several."""
    if slot_count == 1:
        return f"env {first_slot}"
    return f"{shown} env" if shown == 1 else f"{shown} envs"


def _numbers(metrics: Sequence[Metrics]) -> list[str]:
    """Of several environments: counts and rates together, rewards and returns in the mean."""
    count = len(metrics)
    return [
        f"step {sum(each.steps for each in metrics):,}",
        f"episode {sum(each.episodes for each in metrics):,}",
        f"reward {_short(sum(each.last_reward for each in metrics) / count)}",
        f"return {_short(sum(each.rolling_return for each in metrics) / count)}",
        f"{_short(sum(each.step_rate_hz for each in metrics))} steps/s",
    ]


def _short(value: float) -> str:
    """Four digits at most where that is possible; no exponent for everyday sizes."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e9:
        return f"{value:.3e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
