"""Curves of runs through a client: which series stands for a run's return, and its points.

Long series come in buckets; the last values, of which the final performance is made, never do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mosaic.compare.comparison import Question
from mosaic.compare.curves import Curve, Floats
from mosaic.compare.published import EVALUATION, TRAINING
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.history import MetricInfo, MetricSeries
from mosaic.errors import RequestError
from mosaic.watch.headlines import LOSS, RETURN, headline_of, is_one_episode

RETURNS = "episodic return"
BUCKETS = 4_000
DEFAULT_LAST = 100
_EPISODES = ""  # instead of the name of a metric: the table of episodes
_SHARE_AT_END = 0.1


class History(Protocol):
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

    def episodes(self, run_id: str) -> Iterable[EpisodeSummary]: ...


@dataclass(frozen=True)
class Source:
    """Where the values of one run come from."""

    name: str
    is_one_episode: bool


def choose_source(infos: Sequence[MetricInfo]) -> Source:
    """The series that stands for a run's return; what is logged once an episode comes first."""
    own = [info for info in infos if info.points and headline_of(info.name) == RETURN]
    single = [info for info in own if is_one_episode(info.name)]
    if single:
        best = max(single, key=lambda info: info.points)
        return Source(best.name, True)
    evaluations = [
        info for info in infos if info.points and headline_of(_without_group(info.name)) == RETURN
    ]
    for info in own or evaluations:
        return Source(info.name, is_one_episode(_without_group(info.name)))
    return Source(_EPISODES, True)


def _without_group(name: str) -> str:
    """`eval/episodic_return` measures a return as well, only elsewhere."""
    return name.rpartition("/")[2]


class Loader:
    """Reads what a comparison asks for, each series once."""

    def __init__(self, history: History, metric: str | None = None) -> None:
        self._history = history
        self._metric = metric
        self.sources: dict[str, Source] = {}
        self._curves: dict[str, Curve] = {}

    @property
    def measures_returns(self) -> bool:
        """Whether what was loaded can stand beside published returns."""
        return self._metric is None or headline_of(_without_group(self._metric)) == RETURN

    @property
    def kind(self) -> str:
        """Returns of evaluations are not returns while training."""
        names = {source.name for source in self.sources.values()}
        is_training = all(name == _EPISODES or headline_of(name) == RETURN for name in names)
        return TRAINING if is_training else EVALUATION

    def load(self, run_ids: Sequence[str]) -> Mapping[str, Curve]:
        infos = {run_id: self._history.metrics(run_id) for run_id in run_ids}
        if self._metric is not None:
            self._check_metric(self._metric, infos)
        by_name: dict[str, list[str]] = {}
        for run_id, known in infos.items():
            source = (
                Source(self._metric, is_one_episode(self._metric))
                if self._metric is not None
                else choose_source(known)
            )
            self.sources[run_id] = source
            by_name.setdefault(source.name, []).append(run_id)
        for name, members in by_name.items():
            if name == _EPISODES:
                self._curves |= {run_id: self._episode_curve(run_id) for run_id in members}
                continue
            found = self._history.series(members, [name], buckets=BUCKETS)
            self._curves |= {series.run_id: curve_of(series) for series in found}
        for run_id in run_ids:
            self._curves.setdefault(run_id, Curve.of(run_id, [], []))
        return self._curves

    def question(self, last: int | None, is_lower_better: bool) -> Question:
        """What is asked, in words that fit what was found."""
        is_episodes = all(source.is_one_episode for source in self.sources.values())
        return Question(
            metric=self._metric or RETURNS,
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
        if name == _EPISODES or (curve.weights == 1).all():
            return curve.values[-count:]
        from_end = np.cumsum(curve.weights[::-1])
        # One bucket more than needed: a bucket is known by the step it ends with.
        back = int(np.searchsorted(from_end, count)) + 2
        first = int(curve.steps[-back]) if back <= len(curve.steps) else None
        found = self._history.series(
            [run_id], [name], first_step=first, last_step=int(last_step), buckets=0
        )
        values = [curve_of(series).values for series in found if series.run_id == run_id]
        return values[0][-count:] if values else curve.values[-count:]

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

    def _episode_curve(self, run_id: str) -> Curve:
        """An episode ends where the lengths of all before it and its own lead."""
        episodes = list(self._history.episodes(run_id))
        ends = np.cumsum([float(episode.steps) for episode in episodes])
        return Curve.of(run_id, ends, [episode.total_reward for episode in episodes])


def curve_of(series: MetricSeries) -> Curve:
    return Curve.of(series.run_id, series.last_steps, series.means, series.counts)
