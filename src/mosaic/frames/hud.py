"""The line below a picture: what the run is doing, and its numbers. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mosaic.contracts.metrics import EPISODES_IN_MEAN
from mosaic.contracts.run_record import Progress
from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.viewer import LIVE, View

SEPARATOR = "  "
NO_PROGRESS = Progress()


def hud_line(view: View, slots: str, note: str = "", progress: Progress = NO_PROGRESS) -> str:
    """`slots` names what is watched, `note` says what else goes on.

    With the `progress` of the run the numbers are the run's, the same as everywhere, as soon as it
    has any; else those of what is watched.
    """
    metrics = view.metrics
    parts = [view.status]
    if view.message and view.status != LIVE:
        parts[0] += f": {view.message}"
    if note:
        parts.append(note)  # before the numbers: a narrow terminal cuts off what is last
    if any(each.flags & EVALUATING for each in metrics):
        parts.append("(Eval)")
    if metrics:
        is_of_run = progress != NO_PROGRESS
        numbers = _numbers_of_run(progress, metrics) if is_of_run else _numbers(metrics)
        parts += [slots, *numbers]
    return SEPARATOR.join(parts)


def slots_text(first_slot: int, slot_count: int, shown: int) -> str:
    """`env 2`, or `3 envs` of several."""
    if slot_count == 1:
        return f"env {first_slot}"
    return f"{shown} env" if shown == 1 else f"{shown} envs"


def _numbers_of_run(progress: Progress, metrics: Sequence[Metrics]) -> list[str]:
    """Only the last reward is that of the environments in the picture."""
    mean, speed = progress.mean_return, progress.steps_per_second
    return [
        f"step {progress.steps:,}",
        f"episode {progress.episodes:,}",
        f"reward {_short(sum(each.last_reward for each in metrics) / len(metrics))}",
        f"mean({EPISODES_IN_MEAN}) {'–' if mean is None else _short(mean)}",
        f"{'–' if speed is None else _short(speed)} steps/s",
    ]


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
