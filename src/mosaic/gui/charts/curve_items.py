"""What a curve is drawn with: a line of one pixel, a band, the values before smoothing, markers."""

from __future__ import annotations

import numpy as np
import pyqtgraph
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from mosaic.gui.state.curve import Curve, Numbers
from mosaic.gui.state.curve_values import on_axis
from mosaic.gui.theme.tokens import BAND_ALPHA

_FAINT_ALPHA = 0.3
_POINT_PX, _MARKER_PX = 5, 9
# Smooth edges cost little for lines like these, and much for long ones.
_SMOOTH_BELOW = 4_000


class BandItem(pyqtgraph.GraphicsObject):  # type: ignore[misc]
    """The area between two lines; where one of them has a gap, so has the area."""

    def __init__(self) -> None:
        super().__init__()
        self._path = QPainterPath()
        self._brush = QBrush()

    def show_band(self, xs: Numbers, lows: Numbers, highs: Numbers, colour: QColor) -> None:
        self.prepareGeometryChange()
        self._brush = QBrush(colour)
        self._path = QPainterPath()
        finite = np.isfinite(xs) & np.isfinite(lows) & np.isfinite(highs)
        edges = np.flatnonzero(np.diff(np.concatenate(([0], finite.astype(np.int8), [0]))))
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            part = slice(begin, end)
            around = zip(
                np.concatenate((xs[part], xs[part][::-1])).tolist(),
                np.concatenate((highs[part], lows[part][::-1])).tolist(),
                strict=True,
            )
            self._path.addPolygon(QPolygonF([QPointF(x, y) for x, y in around]))
            self._path.closeSubpath()
        self.update()

    def boundingRect(self) -> QRectF:
        return self._path.boundingRect()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._brush)
        painter.drawPath(self._path)


class CurveItems:
    """The items of one curve, in a plot of which they are a part until `remove`."""

    def __init__(self, plot: pyqtgraph.PlotItem) -> None:
        self._plot = plot
        self._band = BandItem()
        self._faint = pyqtgraph.PlotCurveItem(connect="finite")
        self._line = pyqtgraph.PlotCurveItem(connect="finite")
        self._points = pyqtgraph.ScatterPlotItem(pxMode=True)
        self._markers = pyqtgraph.ScatterPlotItem(pxMode=True)
        self._all = (self._band, self._faint, self._line, self._points, self._markers)
        for layer, item in enumerate(self._all):
            item.setZValue(layer)
            plot.addItem(item, ignoreBounds=True)

    def remove(self) -> None:
        for item in self._all:
            self._plot.removeItem(item)

    def set_visible(self, is_visible: bool) -> None:
        for item in self._all:
            item.setVisible(is_visible)

    def draw(self, curve: Curve, is_log_x: bool, is_log_y: bool, background: str) -> None:
        colour = QColor(curve.colour)
        xs, ys = on_axis(curve.xs, is_log_x), on_axis(curve.ys, is_log_y)
        is_smooth = len(xs) <= _SMOOTH_BELOW
        self._line.setData(xs, ys, pen=QPen(colour, 0), antialias=is_smooth)
        faint = curve.faint if curve.faint is not None else curve.ys[:0]
        self._faint.setData(
            xs[: len(faint)],
            on_axis(faint, is_log_y),
            pen=QPen(_with_alpha(colour, _FAINT_ALPHA), 0),
            antialias=False,
        )
        if curve.lows is not None and curve.highs is not None:
            lows, highs = on_axis(curve.lows, is_log_y), on_axis(curve.highs, is_log_y)
            self._band.show_band(xs, lows, highs, _with_alpha(colour, BAND_ALPHA))
        else:
            nothing = curve.ys[:0]
            self._band.show_band(nothing, nothing, nothing, colour)
        alone = _without_neighbours(xs, ys)
        self._points.setData(
            xs[alone], ys[alone], size=_POINT_PX, pen=None, brush=QBrush(colour), symbol="o"
        )
        self._draw_markers(curve, colour, is_log_x, is_log_y, background)

    def _draw_markers(
        self, curve: Curve, colour: QColor, is_log_x: bool, is_log_y: bool, background: str
    ) -> None:
        xs = on_axis(curve.marker_xs, is_log_x)
        ys = on_axis(curve.marker_ys, is_log_y)
        kept = np.isfinite(xs) & np.isfinite(ys)
        self._markers.setData(
            xs[kept],
            ys[kept],
            size=_MARKER_PX,
            symbol="d",
            pen=QPen(QColor(background), 0),
            brush=QBrush(colour),
        )


def _with_alpha(colour: QColor, alpha: float) -> QColor:
    found = QColor(colour)
    found.setAlphaF(alpha)
    return found


def _without_neighbours(xs: Numbers, ys: Numbers) -> Numbers:
    """Points that no line reaches: single ones, and those between two gaps."""
    finite = np.isfinite(xs) & np.isfinite(ys)
    around = np.concatenate(([False], finite, [False]))
    return np.asarray(finite & ~around[:-2] & ~around[2:])
