"""Estimates over seeds with bootstrap intervals. Pure, and the same for the same numbers.

IQM: the mean of the middle half of the seeds (a quarter is cut off at both ends, rounded down, so
that with fewer than four seeds it is the mean). Intervals: percentile bootstrap over the seeds,
each group resampled by itself.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from mosaic.compare.curves import Floats

CONFIDENCE = 0.95
RESAMPLES = 5_000
_CURVE_RESAMPLES = 2_000
_SEED = 20_240_601
_BATCH_CELLS = 4_000_000


@dataclass(frozen=True)
class Estimate:
    """A value with its interval; `low` and `high` are None where one seed tells nothing."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Summary:
    """One number per seed, summed up."""

    seeds: tuple[float, ...]
    mean: Estimate
    median: Estimate
    iqm: Estimate
    deviation: float | None  # over seeds, n - 1


@dataclass(frozen=True)
class Band:
    """A curve with its interval on the grid; without `low` and `high` for a single seed."""

    iqm: Floats
    low: Floats | None
    high: Floats | None


def iqm(values: Floats, axis: int = -1) -> Any:
    return stats.trim_mean(values, 0.25, axis=axis)


def summarize(values: Floats) -> Summary:
    return Summary(
        seeds=tuple(float(value) for value in values),
        mean=estimate(values, np.mean),
        median=estimate(values, np.median),
        iqm=estimate(values, iqm),
        deviation=float(np.std(values, ddof=1)) if len(values) > 1 else None,
    )


def estimate(values: Floats, statistic: Callable[..., Any]) -> Estimate:
    point = float(statistic(values, axis=-1))
    if len(values) < 2:
        return Estimate(point)
    low, high = _interval((values,), statistic, RESAMPLES)
    return Estimate(point, float(low), float(high))


def band(rows: Floats) -> Band:
    """The IQM over seeds at each grid step; whole seeds are resampled, not single points."""
    middle = np.asarray(iqm(rows, axis=0), dtype=float)
    if len(rows) < 2:
        return Band(middle, None, None)
    low, high = _interval((rows.T,), iqm, _CURVE_RESAMPLES)
    return Band(middle, np.asarray(low, dtype=float), np.asarray(high, dtype=float))


def probability_of_improvement(first: Floats, second: Floats) -> Estimate:
    """How likely a seed of `first` is above one of `second`; a tie counts half."""
    point = float(_share_above(first, second))
    if len(first) < 2 or len(second) < 2:
        return Estimate(point)
    low, high = _interval((first, second), _share_above, RESAMPLES)
    return Estimate(point, float(low), float(high))


def _share_above(first: Floats, second: Floats, axis: int = -1) -> Any:
    """The Mann-Whitney U statistic divided by the number of pairs; along the last axis."""
    pairs = np.sign(first[..., :, None] - second[..., None, :])
    return (pairs.mean(axis=(-2, -1)) + 1.0) / 2.0


def _interval(
    samples: tuple[Floats, ...], statistic: Callable[..., Any], resamples: int
) -> tuple[Any, Any]:
    cells = max(int(np.prod([sample.shape[-1] for sample in samples])), samples[0].size)
    with warnings.catch_warnings():
        # Equal seeds have an interval of no width; scipy thinks that worth a warning.
        warnings.simplefilter("ignore")
        result = stats.bootstrap(
            samples,
            statistic,
            axis=-1,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _BATCH_CELLS // cells),
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=np.random.default_rng(_SEED),
        )
    return result.confidence_interval.low, result.confidence_interval.high


def estimate_text(estimate: Estimate) -> str:
    """`402.10 [388.95, 419.46]`, or the value alone where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return number_text(estimate.value)
    return (
        f"{number_text(estimate.value)} [{number_text(estimate.low)}, {number_text(estimate.high)}]"
    )


def number_text(value: float | None, digits: int = 2) -> str:
    """Everyday sizes with a fixed number of digits, so that columns line up."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if size and (size < 10**-digits / 2 or size >= 1e9):
        return f"{value:.2e}"
    return f"{value:,.{digits}f}" if size < 10_000 else f"{value:,.0f}"


def seeds_text(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"
