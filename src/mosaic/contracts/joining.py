"""One curve of a run that was resumed: the points of its ancestors, then its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from mosaic.contracts.ancestry import Ancestor
from mosaic.contracts.metrics import MetricSeries

T = TypeVar("T")


class Joined(NamedTuple):
    """`series` tells the time since the training began, without what lay between its runs."""

    series: MetricSeries
    joints: tuple[int, ...]  # the steps at which a run ends and the next one begins
    started_at: float | None


def no_points(run_id: str, name: str) -> MetricSeries:
    return MetricSeries(run_id, name, (), (), (), (), (), (), (), points=0)


def joined(
    own: MetricSeries,
    started_at: float | None,
    ancestors: Sequence[Ancestor],
    before: Mapping[Ancestor, MetricSeries],
) -> Joined:
    if not ancestors:
        return Joined(own, (), started_at)
    cuts = _cuts(own, ancestors, before)
    parts, joints, elapsed = [], [], 0.0
    for ancestor, cut in zip(ancestors, cuts, strict=True):
        part = _up_to(before.get(ancestor, no_points(ancestor.run_id, own.name)), cut)
        part = _timed(part, elapsed, ancestor.started_at)
        elapsed = max(part.timestamps, default=elapsed + _length(ancestor))
        if part.counts:
            parts.append(part)
            joints.append(part.last_steps[-1] if cut is None else cut)
    parts.append(_timed(own, elapsed, started_at))
    return Joined(_concatenated(own, parts), tuple(joints), 0.0)


def _cuts(
    own: MetricSeries, ancestors: Sequence[Ancestor], before: Mapping[Ancestor, MetricSeries]
) -> list[int | None]:
    """Up to which step each ancestor counts: a curve never overlaps itself."""
    cuts: list[int | None] = []
    begin = min(own.first_steps, default=None)
    for ancestor in reversed(ancestors):
        known = [step for step in (ancestor.last_step, _before(begin)) if step is not None]
        cuts.append(min(known, default=None))
        series = before.get(ancestor)
        if series is not None and series.first_steps:
            begin = min(series.first_steps)
    return cuts[::-1]


def _before(step: int | None) -> int | None:
    return None if step is None else step - 1


def _up_to(series: MetricSeries, cut: int | None) -> MetricSeries:
    if cut is None or not series.last_steps or max(series.last_steps) <= cut:
        return series
    kept = [place for place, step in enumerate(series.last_steps) if step <= cut]
    return _picked(series, kept)


def _picked(series: MetricSeries, places: Sequence[int]) -> MetricSeries:
    def of(values: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(values[place] for place in places)

    counts = of(series.counts)
    return MetricSeries(
        series.run_id,
        series.name,
        first_steps=of(series.first_steps),
        last_steps=of(series.last_steps),
        means=of(series.means),
        lows=of(series.lows),
        highs=of(series.highs),
        counts=counts,
        timestamps=of(series.timestamps),
        points=sum(counts),
    )


def _timed(series: MetricSeries, elapsed: float, started_at: float | None) -> MetricSeries:
    """Its times as seconds of training, after what the runs before it took."""
    begin = started_at if started_at is not None else min(series.timestamps, default=0.0)
    times = tuple(elapsed + max(0.0, time - begin) for time in series.timestamps)
    return MetricSeries(**{**series.__dict__, "timestamps": times})


def _length(ancestor: Ancestor) -> float:
    if ancestor.started_at is None or ancestor.finished_at is None:
        return 0.0
    return max(0.0, ancestor.finished_at - ancestor.started_at)


def _concatenated(own: MetricSeries, parts: Sequence[MetricSeries]) -> MetricSeries:
    def all_of(columns: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
        return tuple(value for column in columns for value in column)

    return MetricSeries(
        own.run_id,
        own.name,
        first_steps=all_of(part.first_steps for part in parts),
        last_steps=all_of(part.last_steps for part in parts),
        means=all_of(part.means for part in parts),
        lows=all_of(part.lows for part in parts),
        highs=all_of(part.highs for part in parts),
        counts=all_of(part.counts for part in parts),
        timestamps=all_of(part.timestamps for part in parts),
        points=sum(part.points for part in parts),
    )
