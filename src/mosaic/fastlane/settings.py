"""What a run says about its live view, in its environment variables. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mosaic.contracts.worker_environment import FASTLANE_SEGMENT
from mosaic.fastlane.layout import DEFAULT_MAX_DIM, DEFAULT_SLOTS, MAX_SIDE, MAX_SLOTS
from mosaic.fastlane.pacing import DEFAULT_BUDGET, DEFAULT_INTERVAL_S

SEGMENT = FASTLANE_SEGMENT  # without it there is no live view
VIDEO_MODE = "CLEANRL_FASTLANE_VIDEO_MODE"
SLOT = "CLEANRL_FASTLANE_SLOT"
GRID_LIMIT = "CLEANRL_FASTLANE_GRID_LIMIT"
INTERVAL_MS = "CLEANRL_FASTLANE_INTERVAL_MS"
MAX_DIM = "CLEANRL_FASTLANE_MAX_DIM"
BUDGET = "CLEANRL_FASTLANE_BUDGET"

SINGLE, GRID, OFF = "single", "grid", "off"


class Settings(NamedTuple):
    segment: str = ""
    mode: str = GRID
    slot: int = 0  # in mode single: which environment is shown
    grid_limit: int = DEFAULT_SLOTS
    interval_s: float = DEFAULT_INTERVAL_S
    max_dim: int = DEFAULT_MAX_DIM
    budget: float = DEFAULT_BUDGET

    @property
    def is_on(self) -> bool:
        return bool(self.segment) and self.mode != OFF

    @property
    def slots(self) -> int:
        return 1 if self.mode == SINGLE else self.grid_limit


def read_settings(variables: Mapping[str, str]) -> Settings:
    """What makes no sense counts as not given: no training shall fail for its live view."""
    mode = variables.get(VIDEO_MODE, GRID).strip().lower()
    return Settings(
        segment=variables.get(SEGMENT, ""),
        mode=mode if mode in (SINGLE, GRID, OFF) else GRID,
        slot=int(_number(variables, SLOT, 0, 0, 10_000)),
        grid_limit=int(_number(variables, GRID_LIMIT, DEFAULT_SLOTS, 1, MAX_SLOTS)),
        interval_s=_number(variables, INTERVAL_MS, DEFAULT_INTERVAL_S * 1000, 0, 60_000) / 1000,
        max_dim=int(_number(variables, MAX_DIM, DEFAULT_MAX_DIM, 16, MAX_SIDE)),
        budget=_number(variables, BUDGET, DEFAULT_BUDGET, 0.001, 1.0),
    )


def _number(
    variables: Mapping[str, str], name: str, default: float, low: float, high: float
) -> float:
    try:
        value = float(variables[name])
    except (KeyError, ValueError):
        return default
    return min(max(value, low), high) if value == value else default
