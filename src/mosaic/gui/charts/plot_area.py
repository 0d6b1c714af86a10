"""PlotArea: the picture of a plot, its axes and curves, and what mouse and keys mean on it."""

from __future__ import annotations

import numpy as np
import pyqtgraph
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPen,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QGraphicsRectItem, QStyleOptionGraphicsItem, QWidget

from mosaic.gui.charts.model.curve import Curve, Numbers, numbers, on_axis
from mosaic.gui.charts.model.number_texts import log_tick_texts, log_ticks, tick_texts
from mosaic.gui.theme import tokens
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import BAND_ALPHA, Palette

_FAINT_ALPHA = 0.3
_JOINT_ALPHA = 0.6
_LEVEL_ALPHA = 0.8
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


class JointsItem(pyqtgraph.GraphicsObject):  # type: ignore[misc]
    """Thin dashed lines from below to above, where one run continues another."""

    def __init__(self) -> None:
        super().__init__()
        self._xs: list[float] = []
        self._pen = QPen()

    def show_joints(self, xs: Numbers, colour: QColor) -> None:
        self.prepareGeometryChange()
        self._xs = xs[np.isfinite(xs)].tolist()
        self._pen = QPen(_with_alpha(colour, _JOINT_ALPHA), 0, Qt.PenStyle.CustomDashLine)
        self._pen.setDashPattern([3, 5])
        self.update()

    def viewRangeChanged(self) -> None:
        self.prepareGeometryChange()

    def boundingRect(self) -> QRectF:
        view = self.getViewBox()
        return QRectF() if view is None or not self._xs else QRectF(view.viewRect())

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        sight = self.boundingRect()
        painter.setPen(self._pen)
        for x in self._xs:
            painter.drawLine(QPointF(x, sight.top()), QPointF(x, sight.bottom()))


class CurveItems:
    """The items of one curve, in a plot of which they are a part until `remove`."""

    def __init__(self, plot: pyqtgraph.PlotItem) -> None:
        self._plot = plot
        self._has_level = False
        self._band = BandItem()
        self._faint = pyqtgraph.PlotCurveItem(connect="finite")
        self._line = pyqtgraph.PlotCurveItem(connect="finite")
        self._points = pyqtgraph.ScatterPlotItem(pxMode=True)
        self._markers = pyqtgraph.ScatterPlotItem(pxMode=True)
        self._joints = JointsItem()
        self._level = pyqtgraph.LinearRegionItem(orientation="horizontal", movable=False)
        self._level.hide()
        self._all = (
            self._level,
            self._joints,
            self._band,
            self._faint,
            self._line,
            self._points,
            self._markers,
        )
        for layer, item in enumerate(self._all):
            item.setZValue(layer)
            plot.addItem(item, ignoreBounds=True)

    def remove(self) -> None:
        for item in self._all:
            self._plot.removeItem(item)

    def set_visible(self, is_visible: bool) -> None:
        for item in self._all:
            item.setVisible(is_visible and (item is not self._level or self._has_level))

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
        self._joints.show_joints(on_axis(curve.joints, is_log_x), colour)
        self._draw_level(curve, colour, is_log_y)

    def _draw_level(self, curve: Curve, colour: QColor, is_log_y: bool) -> None:
        edges = on_axis(numbers(curve.level or ()), is_log_y)
        self._has_level = len(edges) == 2 and bool(np.isfinite(edges).all())
        self._level.setVisible(self._has_level)
        if self._has_level:
            self._level.setRegion(edges.tolist())
            self._level.setBrush(QBrush(_with_alpha(colour, BAND_ALPHA)))
            for line in self._level.lines:
                line.setPen(QPen(_with_alpha(colour, _LEVEL_ALPHA), 0, Qt.PenStyle.DashLine))

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


def _without_neighbours(xs: Numbers, ys: Numbers) -> NDArray[np.bool_]:
    """Points that no line reaches: single ones, between two gaps, or all at one place."""
    finite = np.isfinite(xs) & np.isfinite(ys)
    around = np.concatenate(([False], finite, [False]))
    alone = np.asarray(finite & ~around[:-2] & ~around[2:])
    if finite.any() and not (np.ptp(xs[finite]) or np.ptp(ys[finite])):
        return np.asarray(finite)
    return alone


_GRID_ALPHA = 110  # of 255
_LABEL_EVERY_PX = 70
_LABEL_EVERY_PX_UPWARDS = 34
_NUMBERS_WIDTH = 40
_TICK_DENSITY = 1.35
_OVER_THE_EDGE_PX = 14  # half of a number; the plot has as much room around it
_HEIGHT = 20


class NumberAxis(pyqtgraph.AxisItem):  # type: ignore[misc]
    """An axis whose numbers are short and whose grid is hardly there.

    Without a title: titles are labels beside the plot, which can be elided.
    """

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.enableAutoSIPrefix(False)
        # Numbers that become longer may need room once; shorter ones must not move the plot.
        self.setStyle(
            maxTickLevel=0,
            tickLength=0,
            autoReduceTextSpace=False,
            tickTextWidth=_NUMBERS_WIDTH,
        )
        self.setTickDensity(_TICK_DENSITY)
        if orientation == "bottom":
            self.setHeight(_HEIGHT)
        else:
            self.textWidth = _NUMBERS_WIDTH

    def apply_palette(self, palette: Palette) -> None:
        self.setPen(None)  # the frame of the plot is line enough
        self.setTickPen(palette.line)
        self.setTextPen(palette.muted)
        font = self.font()
        font.setPixelSize(tokens.CAPTION)
        self.setTickFont(font)
        self.setGrid(_GRID_ALPHA)

    def boundingRect(self) -> QRectF:
        """Numbers may reach over the ends of the axis; those that do not fit are left out."""
        beyond = _OVER_THE_EDGE_PX
        found: QRectF = super().boundingRect().adjusted(-beyond, -beyond, beyond, beyond)
        return found

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self.logMode:
            return log_tick_texts(values)
        return tick_texts([value * scale for value in values], spacing * scale)

    def logTickValues(
        self, low: float, high: float, size: float, _: object
    ) -> list[tuple[float, list[float]]]:
        upwards = self.orientation == "left"
        every = _LABEL_EVERY_PX_UPWARDS if upwards else _LABEL_EVERY_PX
        return [(1.0, log_ticks(low, high, max(2, int(size / every))))]


_MIN_DRAG_PX = 5
_WHEEL_STEP = 120.0
_ZOOM_PER_STEP = 0.8
_RIGHT_ROOM = 16  # for half of the last number below
_KEY_PAN = 0.2  # of the width
_REGION_ALPHA = 50


class PlotArea(pyqtgraph.PlotWidget):  # type: ignore[misc]
    """Places are those on the axes. Nothing here changes the range: it says what was asked for."""

    hovered = Signal(object)  # x, or None when the pointer is elsewhere
    region_dragged = Signal(float, float)
    zoom_asked = Signal(float, object)  # factor; x that stays, None for the middle
    pan_asked = Signal(float)  # part of the width
    reset_asked = Signal()
    double_clicked = Signal()
    wheel_refused = Signal()  # it was turned to scroll

    def __init__(self, theme: Theme) -> None:
        self.bottom, self.left = NumberAxis("bottom"), NumberAxis("left")
        super().__init__(axisItems={"bottom": self.bottom, "left": self.left})
        self._theme = theme
        # In a page that scrolls, the wheel is the page's until the plot is clicked; it is the
        # page's again as soon as the pointer has left.
        self.wheel_needs_click = False
        self._is_clicked = False
        self._pressed_at: QPointF | None = None
        self._panned_at: QPointF | None = None
        self._region = QGraphicsRectItem()
        self._region.hide()
        self.pointer = pyqtgraph.InfiniteLine(angle=90, movable=False)
        self.pointer.hide()
        plot = self.getPlotItem()
        plot.hideButtons()
        plot.setMenuEnabled(False)
        plot.getViewBox().setMouseEnabled(x=False, y=False)
        plot.getViewBox().setDefaultPadding(0)
        plot.disableAutoRange()
        plot.layout.setContentsMargins(0, 6, _RIGHT_ROOM, 0)
        plot.addItem(self.pointer, ignoreBounds=True)
        self.scene().addItem(self._region)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setFrameShape(self.Shape.NoFrame)
        self.setStyleSheet("background: transparent; border: 0;")
        theme.changed.connect(self._apply_palette)
        self._apply_palette()

    def x_at(self, position: QPointF) -> float:
        view = self.getPlotItem().getViewBox()
        return float(view.mapSceneToView(self.mapToScene(position.toPoint())).x())

    def is_inside(self, position: QPointF) -> bool:
        scene = self.mapToScene(position.toPoint())
        return bool(self._frame().contains(scene))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._is_clicked = True
        button = event.button()
        if button == Qt.MouseButton.LeftButton and self.is_inside(event.position()):
            self._pressed_at = event.position()
        elif button == Qt.MouseButton.MiddleButton:
            self._panned_at = event.position()
        elif button == Qt.MouseButton.RightButton:
            self.reset_asked.emit()
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._pressed_at is not None:
            self._show_region(self._pressed_at, at)
        elif self._panned_at is not None:
            self.pan_asked.emit((self._panned_at.x() - at.x()) / max(1.0, self._frame().width()))
            self._panned_at = at
        self.hovered.emit(self.x_at(at) if self.is_inside(at) else None)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        began, self._pressed_at, self._panned_at = self._pressed_at, None, None
        self._region.hide()
        if began is not None and abs(event.position().x() - began.x()) >= _MIN_DRAG_PX:
            edges = sorted((self.x_at(began), self.x_at(event.position())))
            self.region_dragged.emit(*edges)
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.double_clicked.emit()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        with_key = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if self.wheel_needs_click and not with_key and not self._is_clicked:
            self.wheel_refused.emit()
            event.ignore()  # the page scrolls
            return
        steps = event.angleDelta().y() / _WHEEL_STEP
        if steps and self.is_inside(event.position()):
            self.zoom_asked.emit(_ZOOM_PER_STEP**steps, self.x_at(event.position()))
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom_asked.emit(_ZOOM_PER_STEP, None)
        elif key == Qt.Key.Key_Minus:
            self.zoom_asked.emit(1 / _ZOOM_PER_STEP, None)
        elif key == Qt.Key.Key_Left:
            self.pan_asked.emit(-_KEY_PAN)
        elif key == Qt.Key.Key_Right:
            self.pan_asked.emit(_KEY_PAN)
        elif key in (Qt.Key.Key_0, Qt.Key.Key_Home):
            self.reset_asked.emit()
        else:
            event.ignore()
            return
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        self._is_clicked = False
        self.hovered.emit(None)
        super().leaveEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._draw_frame()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._draw_frame()

    def _frame(self) -> QRectF:
        found: QRectF = self.getPlotItem().getViewBox().sceneBoundingRect()
        return found

    def _show_region(self, begin: QPointF, end: QPointF) -> None:
        frame = self._frame()
        edges = sorted(self.mapToScene(point.toPoint()).x() for point in (begin, end))
        left, right = max(frame.left(), edges[0]), min(frame.right(), edges[1])
        self._region.setRect(QRectF(left, frame.top(), right - left, frame.height()))
        self._region.show()

    def _apply_palette(self) -> None:
        palette = self._theme.palette
        self.setBackground(None)  # the card it lies on
        self.getPlotItem().getViewBox().setBackgroundColor(palette.plot)
        for axis in (self.bottom, self.left):
            axis.apply_palette(palette)
        self.pointer.setPen(QPen(QColor(palette.muted), 0))
        accent = QColor(palette.accent)
        accent.setAlpha(_REGION_ALPHA)
        self._region.setBrush(QBrush(accent))
        self._region.setPen(QPen(Qt.PenStyle.NoPen))
        self._draw_frame()

    def _draw_frame(self) -> None:
        palette = self._theme.palette
        colour = palette.accent if self.hasFocus() else palette.line
        self.getPlotItem().getViewBox().setBorder(QPen(QColor(colour), 0))
