"""What a run says about its live view, in its environment variables, and its pace. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mosaic.contracts.worker_environment import FASTLANE_SEGMENT
from mosaic.fastlane.layout import DEFAULT_MAX_DIM, DEFAULT_SLOTS, MAX_SIDE, MAX_SLOTS

# -- When to render: often enough for the viewer, seldom enough for the training

DEFAULT_INTERVAL_S = 1 / 30
# Of wall time. What rendering leaves in the caches of the CPU costs the training about half as
# much again; with this it keeps 97 %.
DEFAULT_BUDGET = 0.015
LONGEST_PAUSE_S = 5.0  # however dear rendering is, a viewer sees that something lives


class Pacer:
    """After every frame the training gets the rest of the time to itself."""

    def __init__(
        self, interval_s: float = DEFAULT_INTERVAL_S, budget: float = DEFAULT_BUDGET
    ) -> None:
        if not interval_s >= 0 or not 0 < budget <= 1:
            raise ValueError(f"interval {interval_s} s, budget {budget}")
        self.interval_s, self.budget = interval_s, budget
        self.next_at = 0.0

    def is_due(self, now: float) -> bool:
        return now >= self.next_at

    def rendered(self, started: float, ended: float) -> None:
        price = min((ended - started) / self.budget, LONGEST_PAUSE_S)
        self.next_at = started + max(self.interval_s, price)


# -- What the run says

SEGMENT = FASTLANE_SEGMENT  # without it there is no live view
VIDEO_MODE = "CLEANRL_FASTLANE_VIDEO_MODE"
SLOT = "CLEANRL_FASTLANE_SLOT"
GRID_LIMIT = "CLEANRL_FASTLANE_GRID_LIMIT"
INTERVAL_MS = "CLEANRL_FASTLANE_INTERVAL_MS"
MAX_DIM = "CLEANRL_FASTLANE_MAX_DIM"
BUDGET = "CLEANRL_FASTLANE_BUDGET"

SINGLE, GRID, OFF = "single", "grid", "off"
# For people who choose one.
MODE_HELP = {
    GRID: "several environments side by side",
    SINGLE: "one environment",
    OFF: "no live frames",
}


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
    """What makes no sense is ignored: no training must fail because of its live view."""
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
