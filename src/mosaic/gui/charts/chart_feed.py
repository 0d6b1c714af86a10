"""ChartFeed: asks the daemon for one chart's curves and makes a picture of them, off the window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.history import MetricSeries
from mosaic.errors import MosaicError
from mosaic.gui.async_bridge import AsyncBridge, Task
from mosaic.gui.state.chart_lines import steps_between
from mosaic.gui.state.chart_options import ChartOptions, XAxis
from mosaic.gui.state.chart_picture import (
    ChartPicture,
    Evaluations,
    PictureRequest,
    RunLook,
    axis_for,
    picture_of,
)
from mosaic.gui.state.curve_values import Range

# A wheel turns many times; the daemon is asked when it rests.
_RANGE_MS = 100
_MIN_BUCKETS, _MAX_BUCKETS = 200, 2_000


class ChartFeed(QObject):
    """New points never overtake: while one question is open, runs wait for the next one.
    A new range, metric or selection makes an older question about them void."""

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
                self._details, self._detail_steps = {}, None
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
        self._range = self._picture = None
        self._waiting.clear()

    def _ask(self) -> None:
        run_ids, self._waiting = sorted(self._waiting), set()
        metric, buckets = self.metric, self._buckets

        async def series(client: AsyncTrainerClient) -> list[MetricSeries]:
            return await client.series(run_ids, [metric], buckets=buckets)

        self._asking = self._bridge.ask(series, self._on_series, self._on_asking_failed)

    def _on_series(self, found: list[MetricSeries]) -> None:
        self._asking = None
        shown = {run.run_id for run in self._runs}
        self._series |= {series.run_id: series for series in found if series.run_id in shown}
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
        if steps is None or not coarse:
            return
        if self._detailing is not None:
            self._detailing.cancel()
        metric, buckets = self.metric, self._buckets

        async def series(client: AsyncTrainerClient) -> list[MetricSeries]:
            return await client.series(coarse, [metric], *steps, buckets=buckets)

        self._detailing = self._bridge.ask(
            series, partial(self._on_details, steps), self.failed.emit
        )

    def _on_details(self, steps: tuple[int, int], found: list[MetricSeries]) -> None:
        self._details = {series.run_id: series for series in found}
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
            return  # half of the runs would be told to have no values
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
        )
        self._building = self._bridge.work(
            partial(picture_of, request), self._on_picture, self._on_building_failed
        )

    def _on_picture(self, picture: ChartPicture) -> None:
        # A task that is done has still to be delivered: only here it is out of the way.
        self._building = None
        self._picture = picture
        if self._is_outdated:
            self._build()
        self.arrived.emit(picture)
