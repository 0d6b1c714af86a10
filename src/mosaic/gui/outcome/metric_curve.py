"""MetricCurve: what matters most of what one run measured, small, with what counts as solved."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.contracts.metrics import EPISODIC_RETURN
from mosaic.front.human import decimal
from mosaic.gui.charts.feeds import ChartFeed
from mosaic.gui.charts.model.curve import Curve, numbers
from mosaic.gui.charts.model.picture import ChartOptions, ChartPicture
from mosaic.gui.charts.model.runs import looks_of
from mosaic.gui.charts.plot import CurvePlot
from mosaic.gui.services.workbench import Workbench

_OPTIONS = ChartOptions(seeds_as_band=False)
_LOWEST = 90


class MetricCurve(QWidget):
    arrived = Signal(bool)  # whether there is a curve

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("metric-curve")
        self._workbench = workbench
        self._threshold: float | None = None
        self._picture: ChartPicture | None = None
        self._feed = ChartFeed(workbench.bridge, EPISODIC_RETURN, _OPTIONS)
        self._feed.arrived.connect(self._on_arrived)
        self._feed.failed.connect(lambda error: self.arrived.emit(False))
        self.plot = CurvePlot(workbench.theme)
        self.plot.area.setMinimumHeight(_LOWEST)
        self.plot.legend.hide()  # one run, whose name is above
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot)
        workbench.theme.changed.connect(self._show)

    def show_run(self, run_id: str, metric: str, threshold: float | None) -> None:
        state = self._workbench.state
        self._feed.set_metric(metric)
        if threshold != self._threshold:
            self._threshold = threshold
            self._show()
        self._feed.set_runs(looks_of([run_id], state.runs, state.colours))

    def refresh(self, run_id: str) -> None:
        """The run may have told more since."""
        self._feed.refresh([run_id])

    def leave(self) -> None:
        self._feed.stop()
        self._feed.set_runs(())
        self._picture = None
        self.plot.show_curves(())

    def _on_arrived(self, picture: ChartPicture) -> None:
        self._picture = picture
        self._show()
        if picture.lines:
            self.arrived.emit(not picture.is_empty)

    def _show(self) -> None:
        picture = self._picture
        if picture is None or picture.is_empty:
            self.plot.show_curves(())
            return
        curves = list(picture.curves)
        if self._threshold is not None:
            curves.append(self._solved_line(picture, self._threshold))
        solved = "" if self._threshold is None else f" · solved at {decimal(self._threshold)}"
        self.plot.set_titles(picture.x_title, f"{picture.y_title}{solved}")
        self.plot.show_curves(curves)

    def _solved_line(self, picture: ChartPicture, threshold: float) -> Curve:
        places = np.concatenate([curve.xs for curve in picture.curves])
        ends = numbers([float(places.min()), float(places.max())])
        return Curve(
            label="solved",
            colour=self._workbench.theme.palette.good,
            xs=ends,
            ys=numbers([threshold, threshold]),
            key="solved",
        )
