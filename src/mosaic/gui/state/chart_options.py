"""ChartOptions: how curves are drawn, the same for all charts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

MAX_SMOOTHING = 0.99


class XAxis(StrEnum):
    STEPS = "steps"
    TIME = "time"
    EPISODES = "episodes"


@dataclass(frozen=True)
class ChartOptions:
    smoothing: float = 0.6
    x_axis: XAxis = XAxis.STEPS
    is_log_x: bool = False
    is_log_y: bool = False
    seeds_as_band: bool = True  # runs of one group become one curve
    is_following: bool = True  # a chosen range moves on with the newest point


def options_from(values: Mapping[str, object]) -> ChartOptions:
    """Settings as they were written; whatever makes no sense is as if it were not there."""
    usual = ChartOptions()
    try:
        smoothing = float(str(values["smoothing"]))
    except (KeyError, ValueError):
        smoothing = usual.smoothing
    if not math.isfinite(smoothing):
        smoothing = usual.smoothing
    known = {axis.value for axis in XAxis}
    axis = str(values.get("x_axis", usual.x_axis))
    return ChartOptions(
        smoothing=min(MAX_SMOOTHING, max(0.0, smoothing)),
        x_axis=XAxis(axis) if axis in known else usual.x_axis,
        is_log_x=_flag(values.get("is_log_x"), usual.is_log_x),
        is_log_y=_flag(values.get("is_log_y"), usual.is_log_y),
        seeds_as_band=_flag(values.get("seeds_as_band"), usual.seeds_as_band),
        is_following=_flag(values.get("is_following"), usual.is_following),
    )


def _flag(value: object, usual: bool) -> bool:
    return usual if value is None else str(value).lower() in ("true", "1")
