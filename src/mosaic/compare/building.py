"""A comparison from the runs of a client: what the terminal and the workbench both show.

The return of a run is the curve of its episodes; only a run without a finished episode is judged by
what it logs. Long series come in buckets; the last values, of which the final performance is made,
never do.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mosaic.compare.comparison import Comparison, Question, Tail, compare
from mosaic.compare.curves import Curve, Floats
from mosaic.compare.groups import RunGroup, check_environments, environment_of, with_ends
from mosaic.compare.published import (
    EVALUATION,
    TRAINING,
    UNCHECKED,
    ReferenceCheck,
    check,
    find_published,
)
from mosaic.compare.report import group_labels
from mosaic.compare.statistics import estimate
from mosaic.contracts.ancestry import Ancestor
from mosaic.contracts.joining import joined, no_points
from mosaic.contracts.learner import worker_settings
from mosaic.contracts.metrics import (
    EPISODES_IN_MEAN,
    EPISODIC_RETURN,
    LOSS,
    MetricInfo,
    MetricSeries,
    headline_of,
    is_one_episode,
)
from mosaic.contracts.run_record import LineageKind
from mosaic.errors import RequestError


def build_comparison(
    history: HistoryClient,
    groups: Sequence[RunGroup],
    *,
    metric: str | None = None,
    last: int | None = None,
    is_lower_better: bool = False,
    tells_unchecked: bool = False,
) -> Comparison:
    """`tells_unchecked`: also where no published value can be compared with, and why."""
    check_environments(groups)  # before anything is read
    loader = Loader(history, metric)
    ancestors = {run_id: found for group in groups for run_id, found in group.ancestors.items()}
    loaded = loader.load([run.run_id for group in groups for run in group.runs], ancestors)
    curves = with_ends(groups, loaded)
    question = loader.question(last, is_lower_better)
    comparison = compare(question, groups, curves, loader.tail)
    names = {run.run_id: run.run_name for group in groups for run in group.runs}
    warnings = (*comparison.warnings, *loader.remarks(names), *resumed_remarks(groups))
    comparison = dataclasses.replace(comparison, warnings=warnings)
    if not loader.measures_returns:
        return comparison
    checks = reference_checks(comparison, groups, curves, loader.tail, loader.kind)
    if not tells_unchecked:
        checks = tuple(check for check in checks if check.verdict != UNCHECKED)
    return dataclasses.replace(comparison, checks=checks)


def resumed_remarks(groups: Sequence[RunGroup]) -> list[str]:
    """Which runs stand for several, and where a run before them is not there any more."""
    whole, cut_off, shared = [], [], []
    compared = {run.run_id for group in groups for run in group.runs}
    for group in groups:
        for run in group.runs:
            before = group.ancestors.get(run.run_id, ())
            shared += [
                f"{run.run_name} continues {one.run_name}, which is in another group: "
                "the two are not independent."
                for one in before
                if one.run_id in compared
            ]
            if before:
                names = " and ".join(one.run_name for one in before[-_NAMES_SHOWN:])
                whole.append(f"{run.run_name} continues {names}: one training, one curve.")
            elif run.lineage is not None and run.lineage.kind is LineageKind.RESUMED:
                cut_off.append(run.run_name)
    shown = whole[:_NAMES_SHOWN]
    if len(whole) > len(shown):
        shown.append(f"So do {len(whole) - len(shown)} more runs continue others.")
    if cut_off:
        who = ", ".join(cut_off[:_NAMES_SHOWN])
        others = " and others" if len(cut_off) > _NAMES_SHOWN else ""
        shown.append(
            f"Only what was trained after resuming is compared of {who}{others}: "
            "the run before is not there any more."
        )
    return [*shown, *shared[:_NAMES_SHOWN]]


def title_of(comparison: Comparison) -> str:
    labels = group_labels(comparison.groups)
    return f"{labels} on {comparison.environment}" if comparison.environment else labels


EPISODIC_RETURN_TITLE = "episodic return"
BUCKETS = 4_000
DEFAULT_LAST = EPISODES_IN_MEAN
_SHARE_AT_END = 0.1
_NAMES_SHOWN = 5


class HistoryClient(Protocol):
    """What is needed of a client."""

    def metrics(self, run_id: str) -> list[MetricInfo]: ...

    def series(
        self,
        run_ids: list[str],
        names: list[str],
        first_step: int | None = None,
        last_step: int | None = None,
        buckets: int = 0,
    ) -> list[MetricSeries]: ...


@dataclass(frozen=True)
class SeriesSource:
    """Where the values of one run come from; without a name there are none."""

    name: str
    is_one_episode: bool

    @property
    def is_logged(self) -> bool:
        """Rather than made of the episodes themselves."""
        return self.name not in ("", EPISODIC_RETURN)


def choose_source(infos: Sequence[MetricInfo]) -> SeriesSource:
    """The series that stands for a run's return: its episodes, else what is logged of them."""
    if any(info.name == EPISODIC_RETURN and info.points for info in infos):
        return SeriesSource(EPISODIC_RETURN, True)
    own = [info for info in infos if info.points and headline_of(info.name) == EPISODIC_RETURN]
    single = [info for info in own if is_one_episode(info.name)]
    if single:
        best = max(single, key=lambda info: info.points)
        return SeriesSource(best.name, True)
    evaluations = [
        info
        for info in infos
        if info.points and headline_of(_without_group(info.name)) == EPISODIC_RETURN
    ]
    for info in own or evaluations:
        return SeriesSource(info.name, is_one_episode(_without_group(info.name)))
    return SeriesSource("", True)


def _without_group(name: str) -> str:
    """`eval/episodic_return` measures a return as well, only elsewhere."""
    return name.rpartition("/")[2]


class Loader:
    """Reads what a comparison asks for, each series once."""

    def __init__(self, history: HistoryClient, metric: str | None = None) -> None:
        self._history = history
        self._metric = metric
        self.sources: dict[str, SeriesSource] = {}
        self._ancestors: Mapping[str, tuple[Ancestor, ...]] = {}
        self._curves: dict[str, Curve] = {}

    @property
    def measures_returns(self) -> bool:
        """Whether what was loaded can stand beside published returns."""
        return self._metric is None or headline_of(_without_group(self._metric)) == EPISODIC_RETURN

    @property
    def kind(self) -> str:
        """Returns of evaluations are not returns while training."""
        names = {source.name for source in self.sources.values()}
        is_training = all(not name or headline_of(name) == EPISODIC_RETURN for name in names)
        return TRAINING if is_training else EVALUATION

    def load(
        self,
        run_ids: Sequence[str],
        ancestors: Mapping[str, tuple[Ancestor, ...]] | None = None,
    ) -> Mapping[str, Curve]:
        """`ancestors`: the runs that one continues, whose points its curve begins with."""
        self._ancestors = ancestors or {}
        infos = {run_id: self._infos(run_id) for run_id in run_ids}
        if self._metric is not None:
            self._check_metric(self._metric, infos)
        by_name: dict[str, list[str]] = {}
        for run_id, known in infos.items():
            source = (
                SeriesSource(self._metric, is_one_episode(self._metric))
                if self._metric is not None
                else choose_source(known)
            )
            self.sources[run_id] = source
            by_name.setdefault(source.name, []).append(run_id)
        by_name.pop("", None)
        for name, members in by_name.items():
            found = self._history.series(members, [name], buckets=BUCKETS)
            own = {series.run_id: series for series in found}
            for run_id in members:
                series = own.get(run_id, no_points(run_id, name))
                self._curves[run_id] = curve_of(self._with_ancestors(series, buckets=BUCKETS))
        for run_id in run_ids:
            self._curves.setdefault(run_id, Curve.of(run_id, [], []))
        return self._curves

    def _infos(self, run_id: str) -> list[MetricInfo]:
        members = (run_id, *(one.run_id for one in self._ancestors.get(run_id, ())))
        return [info for member in members for info in self._history.metrics(member)]

    def _with_ancestors(
        self,
        own: MetricSeries,
        first_step: int | None = None,
        last_step: int | None = None,
        *,
        buckets: int,
    ) -> MetricSeries:
        """Each run before it counts up to the step from which the next one continued it."""
        ancestors = self._ancestors.get(own.run_id, ())
        before: dict[Ancestor, MetricSeries] = {}
        for one in ancestors:
            last = min((s for s in (one.last_step, last_step) if s is not None), default=None)
            if first_step is None or last is None or first_step <= last:
                found = self._history.series(
                    [one.run_id], [own.name], first_step, last, buckets=buckets
                )
                before[one] = next(iter(found), no_points(one.run_id, own.name))
        return joined(own, None, ancestors, before).series

    def remarks(self, names: Mapping[str, str]) -> list[str]:
        """Which runs are judged by what they log, in sentences. `names` are those of the runs."""
        if self._metric is not None:
            return []
        by_series: dict[str, list[str]] = {}
        for run_id, source in self.sources.items():
            if source.is_logged:
                by_series.setdefault(source.name, []).append(names.get(run_id, run_id))
        return [
            f"No finished episodes of {', '.join(runs[:_NAMES_SHOWN])}"
            f"{' and others' if len(runs) > _NAMES_SHOWN else ''}: the logged {series} was taken."
            for series, runs in by_series.items()
        ]

    def question(self, last: int | None, is_lower_better: bool) -> Question:
        """What is asked, in words that fit what was found."""
        is_episodes = all(source.is_one_episode for source in self.sources.values())
        return Question(
            metric=self._metric or EPISODIC_RETURN_TITLE,
            last=last or (DEFAULT_LAST if is_episodes else self._usual_end()),
            is_lower_better=is_lower_better
            or (self._metric is not None and headline_of(self._metric) == LOSS),
            unit="episode" if is_episodes else "value",
        )

    def _usual_end(self) -> int:
        """Of values that are no single episodes: a tenth of the shortest run's."""
        points = [curve.points for curve in self._curves.values() if not curve.is_empty]
        return max(1, min(DEFAULT_LAST, int(min(points, default=1) * _SHARE_AT_END)))

    def tail(self, run_id: str, count: int, last_step: float) -> Floats:
        """The last values up to a step, read point by point where the curve has buckets."""
        curve = self._curves[run_id].up_to(last_step)
        name = self.sources[run_id].name
        if (curve.weights == 1).all():
            return curve.values[-count:]
        from_end = np.cumsum(curve.weights[::-1])
        # One bucket more than needed: a bucket is known by the step it ends with.
        back = int(np.searchsorted(from_end, count)) + 2
        first = int(curve.steps[-back]) if back <= len(curve.steps) else None
        found = self._history.series(
            [run_id], [name], first_step=first, last_step=int(last_step), buckets=0
        )
        own = next((one for one in found if one.run_id == run_id), no_points(run_id, name))
        points = curve_of(self._with_ancestors(own, first, int(last_step), buckets=0))
        # A point may stand for several values even then.
        copies = np.minimum(points.weights, count).astype(int)
        return np.repeat(points.values, copies)[-count:]

    def _check_metric(self, name: str, infos: Mapping[str, Sequence[MetricInfo]]) -> None:
        known = sorted({info.name for found in infos.values() for info in found})
        if name in known:
            return
        close = difflib.get_close_matches(name, known, n=3) or known[:10]
        raise RequestError(
            f"None of the runs has a metric {name[:80]!r}",
            hint=f"there is {', '.join(close)}" if close else "the runs have no metrics yet",
            field="metric",
            metrics=known,
        )


def curve_of(series: MetricSeries) -> Curve:
    return Curve.of(series.run_id, series.last_steps, series.means, series.counts)


# As published tables are made, whatever a comparison looks at.
_EPISODES = 100


def reference_checks(
    comparison: Comparison,
    groups: Sequence[RunGroup],
    curves: Mapping[str, Curve],
    tail: Tail,
    kind: str = TRAINING,
) -> tuple[ReferenceCheck, ...]:
    """One per group, at the step the published value is of."""
    counted = {
        group.label: [run.run_id for run in group.runs if run.final is not None]
        for group in comparison.groups
    }
    return tuple(
        _check_group(group, counted[group.label], curves, tail, kind)
        for group in groups
        if group.label in counted
    )


def _check_group(
    group: RunGroup, run_ids: Sequence[str], curves: Mapping[str, Curve], tail: Tail, kind: str
) -> ReferenceCheck:
    run = group.runs[0]
    settings = worker_settings(run.config)
    steps = min(curves[run_id].last_step for run_id in run_ids)
    algorithm = str(settings.get("algo") or "")
    published = find_published(algorithm, environment_of(run), steps, kind)
    if isinstance(published, str):
        return ReferenceCheck(group.label, UNCHECKED, f"{group.label}: {published}")
    finals = [
        values[np.isfinite(values)].mean()
        for run_id in run_ids
        if np.isfinite(values := tail(run_id, _EPISODES, float(published.steps))).any()
    ]
    if not finals:
        reason = f"{group.label}: no value up to step {published.steps:,}."
        return ReferenceCheck(group.label, UNCHECKED, reason)
    extras = settings.get("extras")
    changed = extras.get("algo_params") if isinstance(extras, Mapping) else None
    measured = estimate(np.array(finals), np.mean)
    return check(group.label, published, measured, len(finals), sorted(changed or ()))
