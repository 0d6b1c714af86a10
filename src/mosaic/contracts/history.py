"""Answers to questions about what a run has stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricInfo:
    name: str
    points: int
    first_step: int
    last_step: int
    last_value: float


@dataclass(frozen=True)
class MetricSeries:
    """Columns of equal length, in the order of the journal. A point is a bucket of one."""

    run_id: str
    name: str
    first_steps: tuple[int, ...]
    last_steps: tuple[int, ...]
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    counts: tuple[int, ...]
    timestamps: tuple[float, ...]  # the latest in each bucket
    points: int  # in the range asked for
    next_cursor: int = 0  # 0: nothing more


@dataclass(frozen=True)
class LogMatch:
    run_id: str
    stream: str
    line_number: int
    line: str
