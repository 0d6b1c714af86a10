"""CurvePlot: curves with axes and a legend; reads values below the pointer, zooms, is exported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyqtgraph
from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPen
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mosaic.gui.charts.curve_items import CurveItems
from mosaic.gui.charts.legend import Legend
from mosaic.gui.charts.plot_area import PlotArea
from mosaic.gui.state.chart_numbers import x_text
from mosaic.gui.state.curve import Curve, numbers
from mosaic.gui.state.curve_values import (
    Range,
    on_axis,
    panned,
    reading_at,
    x_range,
    y_range,
    zoomed,
)
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import eliding_label, label

_MIN_PLOT_HEIGHT = 150
_DOT_PX = 6
EXPORT_SCALE = 2


class CurvePlot(QWidget):
    """Shows all there is until somebody zooms; then the heights fit what is in sight."""

    range_chosen = Signal(object)  # (begin, end) of x as the curves have it; None: everything

    def __init__(self, theme: Theme, x_title: str = "steps", y_title: str = "") -> None:
        super().__init__()
        self._theme = theme
        self._curves: tuple[Curve, ...] = ()
        self._items: dict[str, CurveItems] = {}
        self._hidden: set[str] = set()
        self._is_log_x = self._is_log_y = False
        self._axis = "steps"
        self._chosen: Range | None = None  # on the axis
        self._hover_x: float | None = None
        self.area = PlotArea(theme)
        self.area.setMinimumHeight(_MIN_PLOT_HEIGHT)
        self.area.setAccessibleName("Curves; plus and minus zoom, arrows move, 0 shows everything")
        self.legend = Legend(theme)
        self._y_title = eliding_label(y_title, "caption")
        self._pointer_text = label("", "caption")
        self._x_title = label(x_title, "caption")
        self._x_title.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._dots = pyqtgraph.ScatterPlotItem(pxMode=True)
        self._dots.setZValue(10)
        self.area.getPlotItem().addItem(self._dots, ignoreBounds=True)
        top = QHBoxLayout()
        top.setContentsMargins(4, 0, 4, 0)
        top.addWidget(self._y_title, 1)
        top.addWidget(self._pointer_text)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(top)
        layout.addWidget(self.area, 1)
        layout.addWidget(self._x_title)
        layout.addWidget(self.legend)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.area.hovered.connect(self._on_hovered)
        self.area.region_dragged.connect(self._on_region_dragged)
        self.area.zoom_asked.connect(self._on_zoom_asked)
        self.area.pan_asked.connect(self._on_pan_asked)
        self.area.reset_asked.connect(self.show_everything)
        self.legend.toggled.connect(self._on_toggled)
        theme.changed.connect(self._redraw)

    # What it shows

    def show_curves(self, curves: Sequence[Curve]) -> None:
        self._curves = tuple(curves)
        wanted = {curve.id for curve in self._curves}
        for curve_id in [known for known in self._items if known not in wanted]:
            self._items.pop(curve_id).remove()
        self.legend.show_curves(self._curves, self._hidden)
        self._redraw()

    def set_titles(self, x_title: str, y_title: str) -> None:
        self._x_title.setText(x_title)
        self._y_title.setText(y_title)
        self._y_title.setToolTip(y_title)

    def set_axes(
        self,
        axis: str = "steps",
        *,
        is_log_x: bool = False,
        is_log_y: bool = False,
        x_scale: float = 1.0,
    ) -> None:
        """`axis` is "steps", "time" (in seconds, written times `x_scale`) or "episodes"."""
        if (axis, is_log_x) != (self._axis, self._is_log_x):
            self._chosen = None  # another axis has other places
        self._axis, self._is_log_x, self._is_log_y = axis, is_log_x, is_log_y
        self.area.bottom.setScale(1.0 if is_log_x else x_scale)
        self.area.bottom.setLogMode(is_log_x)
        self.area.left.setLogMode(is_log_y)

    @property
    def curves(self) -> tuple[Curve, ...]:
        return self._curves

    @property
    def shown_curves(self) -> tuple[Curve, ...]:
        """Without those that were hidden in the legend."""
        return tuple(curve for curve in self._curves if curve.id not in self._hidden)

    @property
    def chosen_range(self) -> Range | None:
        """Of x as the curves have it."""
        return None if self._chosen is None else self._from_axis(self._chosen)

    @property
    def pointer_text(self) -> str:
        return self._pointer_text.text()

    @property
    def x_title(self) -> str:
        return self._x_title.text()

    @property
    def width_px(self) -> int:
        """Of the picture: more points than this cannot be told apart."""
        return int(self.area.getPlotItem().getViewBox().width())

    def show_range(self, begin: float, end: float) -> None:
        """As the curves have it; says nothing to others."""
        low, high = on_axis(numbers([begin, end]), self._is_log_x).tolist()
        self._chosen = (low, high)
        self._fit()

    def show_everything(self) -> None:
        was_chosen = self._chosen is not None
        self._chosen = None
        self._fit()
        if was_chosen:
            self.range_chosen.emit(None)

    # What it gives away

    def image(self) -> QImage:
        """Twice as fine as on the screen."""
        image = QImage(self.size() * EXPORT_SCALE, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(EXPORT_SCALE)
        image.fill(QColor(self._theme.palette.panel))
        self.render(image)
        return image

    def save_svg(self, path: Path) -> None:
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(self.size())
        generator.setViewBox(self.rect())
        painter = QPainter(generator)
        painter.fillRect(QRectF(self.rect()), QColor(self._theme.palette.panel))
        self.render(painter, QPoint())
        painter.end()

    def sizeHint(self) -> QSize:
        return QSize(360, 260)

    # What happens to it

    def _redraw(self) -> None:
        background = self._theme.palette.plot
        for curve in self._curves:
            if curve.id not in self._items:
                self._items[curve.id] = CurveItems(self.area.getPlotItem())
            self._items[curve.id].draw(curve, self._is_log_x, self._is_log_y, background)
            self._items[curve.id].set_visible(curve.id not in self._hidden)
        self._fit()
        self._show_values()

    def _fit(self) -> None:
        shown = self.shown_curves
        within = self._chosen or x_range(shown, self._is_log_x)
        heights = y_range(shown, self._is_log_y, within, self._is_log_x)
        self.area.getPlotItem().setRange(xRange=within, yRange=heights, padding=0)

    def _on_toggled(self, curve_id: str, is_shown: bool) -> None:
        (self._hidden.discard if is_shown else self._hidden.add)(curve_id)
        self._redraw()

    def _on_region_dragged(self, begin: float, end: float) -> None:
        limits = x_range(self.shown_curves, self._is_log_x)
        begin, end = max(begin, limits[0]), min(end, limits[1])
        if end > begin:
            self._choose((begin, end))

    def _on_zoom_asked(self, factor: float, centre: float | None) -> None:
        limits = x_range(self.shown_curves, self._is_log_x)
        shown = self._chosen or limits
        middle = (shown[0] + shown[1]) / 2 if centre is None else centre
        found = zoomed(shown, factor, middle, limits)
        if found is None:
            self.show_everything()
        else:
            self._choose(found)

    def _on_pan_asked(self, share: float) -> None:
        if self._chosen is not None:
            limits = x_range(self.shown_curves, self._is_log_x)
            by = share * (self._chosen[1] - self._chosen[0])
            self._choose(panned(self._chosen, by, limits))

    def _choose(self, chosen: Range) -> None:
        self._chosen = chosen
        self._fit()
        self.range_chosen.emit(self.chosen_range)

    def _on_hovered(self, x: float | None) -> None:
        self._hover_x = x
        self._show_values()

    def _show_values(self) -> None:
        """At the pointer; without one, the last values."""
        at = self._hover_x
        self.area.pointer.setVisible(at is not None)
        if at is None:
            self._pointer_text.setText("")
            self._dots.setData([], [])
            self.legend.show_values({curve.id: curve.legend_value for curve in self._curves})
            return
        self.area.pointer.setValue(at)
        x = 10.0**at if self._is_log_x else at
        readings = {curve.id: reading_at(curve, x) for curve in self.shown_curves}
        found = {curve_id: reading for curve_id, reading in readings.items() if reading}
        # One curve is read at its point; several at the place of the pointer.
        place = next(iter(found.values())).x if len(found) == 1 else x
        self._pointer_text.setText(x_text(place, self._axis))
        self.legend.show_values({curve_id: reading.y for curve_id, reading in found.items()})
        colours = {curve.id: curve.colour for curve in self._curves}
        self._dots.setData(
            on_axis(numbers([reading.x for reading in found.values()]), self._is_log_x),
            on_axis(numbers([reading.y for reading in found.values()]), self._is_log_y),
            size=_DOT_PX,
            pen=QPen(QColor(self._theme.palette.plot), 0),
            brush=[QBrush(QColor(colours[curve_id])) for curve_id in found],
        )

    def _from_axis(self, places: Range) -> Range:
        if not self._is_log_x:
            return places
        return 10.0 ** places[0], 10.0 ** places[1]
