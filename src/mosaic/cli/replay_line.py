"""What stands below a replayed picture: the telemetry of its step. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mosaic.front.human import count, decimal
from mosaic.front.replay_words import action_text

if TYPE_CHECKING:
    from mosaic.replay.simulation import SimulatedStep

_SEPARATOR = "  "


def telemetry_line(step: SimulatedStep, steps: int, return_so_far: float, note: str = "") -> str:
    """What is to be noticed comes first: a narrow terminal cuts off what is last."""
    parts = [note] if note else []
    parts.append(f"step {count(step.index)}/{count(steps)}")
    if step.index:
        parts.append(f"action {action_text(step.action)}")
        parts.append(f"reward {decimal(step.recorded_reward)}{_simulated(step)}")
        parts.append(f"return {decimal(return_so_far)}")
    if step.terminated:
        parts.append("terminated")
    if step.truncated:
        parts.append("cut off")
    return _SEPARATOR.join(parts)


def _simulated(step: SimulatedStep) -> str:
    is_same = decimal(step.reward) == decimal(step.recorded_reward)
    return "" if is_same else f" (simulated {decimal(step.reward)})"
