"""What charts ask the daemon: the curves of a metric, which metrics runs have, evaluations."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.ancestry import Ancestor
from mosaic.contracts.joining import no_points
from mosaic.contracts.metrics import MetricSeries
from mosaic.errors import MosaicError, UnknownRunError
from mosaic.gui.charts.model.curve import Range
from mosaic.gui.charts.model.metrics import evaluated_return
from mosaic.gui.charts.model.picture import (
    ChartOptions,
    ChartPicture,
    Evaluations,
    PictureRequest,
    RunLook,
    XAxis,
    axis_for,
    picture_of,
    steps_between,
)
from mosaic.gui.charts.model.runs import evaluations_of
from mosaic.gui.services.async_bridge import AsyncBridge, Task
from mosaic.gui.state.runs_state import RunsState

# A mouse wheel turns many times; the daemon is asked when it stops.
_RANGE_MS = 100
_MIN_BUCKETS, _MAX_BUCKETS = 200, 2_000


class Answer(NamedTuple):
    own: list[MetricSeries]
    before: dict[Ancestor, MetricSeries]


async def _part(
    client: AsyncTrainerClient,
    ancestor: Ancestor,
    metric: str,
    buckets: int,
    steps: tuple[int, int] | None = None,
) -> MetricSeries:
    """Up to where the next run continued it; nothing of one that was deleted meanwhile."""
    first, last = steps or (None, ancestor.last_step)
    if last is not None and ancestor.last_step is not None:
        last = min(last, ancestor.last_step)
    if first is not None and last is not None and first > last:
        return no_points(ancestor.run_id, metric)
    try:
        found = await client.series([ancestor.run_id], [metric], first, last, buckets=buckets)
    except UnknownRunError:
        return no_points(ancestor.run_id, metric)
    return next(iter(found), no_points(ancestor.run_id, metric))


class ChartFeed(QObject):
    """Asks the daemon for one chart's curves and builds a picture of them, off the window's thread.

    New points never overtake: while one request is open, runs wait for the next one. A new range,
    metric or selection cancels an older request.
    """

    arrived = Signal(object)  # ChartPicture
    failed = Signal(object)  # MosaicError

    def __init__(self, bridge: AsyncBridge, metric: str, options: ChartOptions) -> None:
        super().__init__()
        self._bridge = bridge
        self.metric = metric
        self._options = options
        self._runs: tuple[RunLook, ...] = ()
        self._buckets = _MIN_BUCKETS
        self._series: dict[str, MetricSeries] = {}
        self._details: dict[str, MetricSeries] = {}
        self._detail_steps: tuple[int, int] | None = None
        # What runs before a shown one contribute to its curve: it does not change any more.
        self._before: dict[Ancestor, MetricSeries] = {}
        self._before_details: dict[Ancestor, MetricSeries] = {}
        self._evaluations: Mapping[str, Evaluations] = {}
        self._range: Range | None = None
        self._picture: ChartPicture | None = None
        self._asking: Task | None = None
        self._detailing: Task | None = None
        self._building: Task | None = None
        self._waiting: set[str] = set()  # runs to ask about next
        self._is_outdated = False  # something changed while a picture was made
        self._range_timer = QTimer(self)
        self._range_timer.setSingleShot(True)
        self._range_timer.setInterval(_RANGE_MS)
        self._range_timer.timeout.connect(self._ask_details)

    # What is to be shown

    def set_width(self, pixels: int) -> None:
        self._buckets = max(_MIN_BUCKETS, min(_MAX_BUCKETS, pixels))

    def set_metric(self, metric: str) -> None:
        if metric != self.metric:
            self._forget()
            self.metric = metric
            self.refresh(run.run_id for run in self._runs)

    def set_runs(self, runs: tuple[RunLook, ...]) -> None:
        if runs == self._runs:
            return
        self._runs = runs
        wanted = {run.run_id for run in runs}
        for known in (self._series, self._details):
            for run_id in [run_id for run_id in known if run_id not in wanted]:
                del known[run_id]
        missing = wanted - self._series.keys()
        for run in runs:
            if any(one not in self._before for one in run.ancestors):
                missing.add(run.run_id)
        if missing:
            self.refresh(missing)
        else:
            self._build()

    def set_options(self, options: ChartOptions) -> None:
        if options != self._options:
            self._options = options
            self._build()

    def set_evaluations(self, evaluations: Mapping[str, Evaluations]) -> None:
        self._evaluations = evaluations
        self._build()

    def set_range(self, chosen: Range | None) -> None:
        self._range = chosen
        if self._detailing is not None:
            self._detailing.cancel()
        if chosen is None:
            self._range_timer.stop()
            if self._detail_steps is not None:
                self._details, self._before_details, self._detail_steps = {}, {}, None
                self._build()
        else:
            self._range_timer.start()

    def refresh(self, run_ids: Iterable[str]) -> None:
        """These runs have something new."""
        shown = {run.run_id for run in self._runs}
        self._waiting |= shown & set(run_ids)
        if self._waiting and self._asking is None:
            self._ask()

    def stop(self) -> None:
        self._range_timer.stop()
        for task in (self._asking, self._detailing, self._building):
            if task is not None:
                task.cancel()
        self._asking = self._detailing = self._building = None

    # Questions

    def _forget(self) -> None:
        self.stop()
        self._series, self._details, self._detail_steps = {}, {}, None
        self._before, self._before_details = {}, {}
        self._range = self._picture = None
        self._waiting.clear()

    def _ask(self) -> None:
        run_ids, self._waiting = sorted(self._waiting), set()
        metric, buckets = self.metric, self._buckets
        wanted = [one for one in self._ancestors() if one not in self._before]

        async def series(client: AsyncTrainerClient) -> Answer:
            found = await client.series(run_ids, [metric], buckets=buckets)
            before = [await _part(client, one, metric, buckets) for one in wanted]
            return Answer(found, dict(zip(wanted, before, strict=True)))

        self._asking = self._bridge.ask(series, self._on_series, self._on_asking_failed)

    def _ancestors(self) -> list[Ancestor]:
        return list(dict.fromkeys(one for run in self._runs for one in run.ancestors))

    def _on_series(self, found: Answer) -> None:
        self._asking = None
        shown = {run.run_id for run in self._runs}
        self._series |= {series.run_id: series for series in found.own if series.run_id in shown}
        known = set(self._ancestors())
        self._before = {
            one: series for one, series in (self._before | found.before).items() if one in known
        }
        if self._waiting:
            self._ask()
        self._build()
        if self._range is not None and not self._range_timer.isActive():
            self._range_timer.start()

    def _ask_details(self) -> None:
        """Of the part in sight, as finely as there are pixels; only where points were merged."""
        steps = self._steps_in_sight()
        coarse = [
            run_id for run_id, series in self._series.items() if series.points > len(series.counts)
        ]
        before = [one for one, part in self._before.items() if part.points > len(part.counts)]
        if steps is None or not (coarse or before):
            return
        if self._detailing is not None:
            self._detailing.cancel()
        metric, buckets = self.metric, self._buckets

        async def series(client: AsyncTrainerClient) -> Answer:
            found = await client.series(coarse, [metric], *steps, buckets=buckets) if coarse else []
            parts = [await _part(client, one, metric, buckets, steps) for one in before]
            return Answer(found, dict(zip(before, parts, strict=True)))

        self._detailing = self._bridge.ask(
            series, partial(self._on_details, steps), self.failed.emit
        )

    def _on_details(self, steps: tuple[int, int], found: Answer) -> None:
        self._details = {series.run_id: series for series in found.own}
        self._before_details = found.before
        self._detail_steps = steps
        self._build()

    def _steps_in_sight(self) -> tuple[int, int] | None:
        if self._range is None or self._picture is None:
            return None
        if axis_for(self.metric, self._options.x_axis) is XAxis.STEPS:
            return int(self._range[0]), int(self._range[1]) + 1
        parts = [steps_between(line, *self._range) for line in self._picture.lines.values()]
        known = [part for part in parts if part is not None]
        if not known:
            return None
        return min(part[0] for part in known), max(part[1] for part in known)

    def _on_asking_failed(self, error: MosaicError) -> None:
        self._asking = None
        self.failed.emit(error)

    def _on_building_failed(self, error: MosaicError) -> None:
        self._building = None
        self.failed.emit(error)

    # Pictures

    def _build(self) -> None:
        if self._asking is not None and any(run.run_id not in self._series for run in self._runs):
            return  # half of the runs would be shown without values
        if self._building is not None:
            self._is_outdated = True
            return
        self._is_outdated = False
        request = PictureRequest(
            self.metric,
            self._options,
            self._runs,
            dict(self._series),
            dict(self._details),
            self._detail_steps,
            self._evaluations,
            dict(self._before),
            dict(self._before_details),
        )
        self._building = self._bridge.work(
            partial(picture_of, request), self._on_picture, self._on_building_failed
        )

    def _on_picture(self, picture: ChartPicture) -> None:
        # A finished task still has to be delivered: only here is it done with.
        self._building = None
        self._picture = picture
        if self._is_outdated:
            self._build()
        self.arrived.emit(picture)


# New names are rare once a run has begun.
_AGAIN_S = 1.0
_EVALUATION_POINTS = 200


class RunMetrics(QObject):
    """Which metrics the shown runs have, and how their policies were evaluated."""

    names_changed = Signal()
    evaluations_changed = Signal()

    def __init__(self, bridge: AsyncBridge, runs: RunsState) -> None:
        super().__init__()
        self._bridge, self._runs = bridge, runs
        self._names: dict[str, tuple[str, ...]] = {}
        self._asked_at: dict[str, float] = {}
        self._asking: Task | None = None
        self._measuring: Task | None = None
        # What was wanted while a question was open.
        self._ask_next: set[str] = set()
        self._measure_next: tuple[str, ...] = ()
        self._own: dict[str, MetricSeries] = {}  # what runs evaluated themselves

    def names(self, run_ids: Iterable[str]) -> list[str]:
        found = {name for run_id in run_ids for name in self._names.get(run_id, ())}
        return sorted(found)

    def is_known(self, run_ids: Iterable[str]) -> bool:
        return all(run_id in self._names for run_id in run_ids)

    def evaluations(self, run_ids: Iterable[str]) -> dict[str, Evaluations]:
        records = self._runs.newest_first()
        found = {}
        for run_id in run_ids:
            parent = self._runs.get(run_id)
            if parent is not None:
                points = evaluations_of(parent, records, self._own.get(run_id))
                if points is not None:
                    found[run_id] = points
        return found

    def refresh(self, run_ids: Iterable[str]) -> None:
        """Asks about runs that are new, or may have more by now."""
        now = time.monotonic()
        due = [run for run in run_ids if now - self._asked_at.get(run, -_AGAIN_S) >= _AGAIN_S]
        if self._asking is not None:
            self._ask_next.update(due)
            return
        if not due:
            return
        for run_id in due:
            self._asked_at[run_id] = now

        async def names(client: AsyncTrainerClient) -> list[tuple[str, tuple[str, ...]]]:
            answers = await asyncio.gather(*(_names_of(client, run_id) for run_id in due))
            return [item for item in answers if item is not None]

        self._asking = self._bridge.ask(names, self._on_names, self._on_failed)

    def measure_evaluations(self, run_ids: Iterable[str]) -> None:
        """Series in which these runs logged evaluations while they trained."""
        if self._measuring is not None:
            self._measure_next = tuple(run_ids)
            return
        wanted = {run: evaluated_return(self._names.get(run, ())) for run in run_ids}
        wanted = {run: name for run, name in wanted.items() if name}
        if not wanted:
            return

        async def measure(client: AsyncTrainerClient) -> list[MetricSeries]:
            names = sorted(set(wanted.values()))
            found = await client.series(list(wanted), names, buckets=_EVALUATION_POINTS)
            return [series for series in found if wanted[series.run_id] == series.name]

        self._measuring = self._bridge.ask(measure, self._on_measured, self._on_failed)

    def stop(self) -> None:
        for task in (self._asking, self._measuring):
            if task is not None:
                task.cancel()
        self._asking = self._measuring = None
        self._asked_at.clear()
        self._ask_next.clear()
        self._measure_next = ()

    def _on_names(self, found: list[tuple[str, tuple[str, ...]]]) -> None:
        self._asking = None
        self._names |= dict(found)
        waiting, self._ask_next = self._ask_next, set()
        self.refresh(waiting)
        self.names_changed.emit()

    def _on_measured(self, found: list[MetricSeries]) -> None:
        self._measuring = None
        self._own |= {series.run_id: series for series in found}
        waiting, self._measure_next = self._measure_next, ()
        self.measure_evaluations(waiting)
        self.evaluations_changed.emit()

    def _on_failed(self, error: MosaicError) -> None:
        """Asked again with the next change; a lost daemon is reported elsewhere."""
        self.stop()


async def _names_of(client: AsyncTrainerClient, run_id: str) -> tuple[str, tuple[str, ...]] | None:
    try:
        return run_id, tuple(info.name for info in await client.metrics(run_id) if info.points)
    except UnknownRunError:
        return None  # deleted in the meantime
