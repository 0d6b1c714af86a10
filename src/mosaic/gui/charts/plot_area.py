"""PlotArea: the picture itself, and what the mouse and the keys mean on it.

Places are those on the axes. Nothing here changes the range: it says what was asked for.
"""

from __future__ import annotations

import pyqtgraph
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPen, QWheelEvent
from PySide6.QtWidgets import QGraphicsRectItem

from mosaic.gui.charts.axes import NumberAxis
from mosaic.gui.theme.theme import Theme

_MIN_DRAG_PX = 5
_WHEEL_STEP = 120.0
_ZOOM_PER_STEP = 0.8
_RIGHT_ROOM = 16  # for half of the last number below
_KEY_PAN = 0.2  # of the width
_REGION_ALPHA = 50


class PlotArea(pyqtgraph.PlotWidget):  # type: ignore[misc]
    hovered = Signal(object)  # x, or None when the pointer is elsewhere
    region_dragged = Signal(float, float)
    zoom_asked = Signal(float, object)  # factor; x that stays, None for the middle
    pan_asked = Signal(float)  # part of the width
    reset_asked = Signal()

    def __init__(self, theme: Theme) -> None:
        self.bottom, self.left = NumberAxis("bottom"), NumberAxis("left")
        super().__init__(axisItems={"bottom": self.bottom, "left": self.left})
        self._theme = theme
        # In a list that scrolls, the wheel is the list's until the plot was clicked.
        self.wheel_needs_focus = False
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
        theme.changed.connect(self._dress)
        self._dress()

    def x_at(self, position: QPointF) -> float:
        view = self.getPlotItem().getViewBox()
        return float(view.mapSceneToView(self.mapToScene(position.toPoint())).x())

    def is_inside(self, position: QPointF) -> bool:
        scene = self.mapToScene(position.toPoint())
        return bool(self._frame().contains(scene))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
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
        self.reset_asked.emit()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        with_key = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if self.wheel_needs_focus and not with_key and not self.hasFocus():
            event.ignore()  # the list scrolls
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

    def _dress(self) -> None:
        palette = self._theme.palette
        self.setBackground(None)  # the card it lies on
        self.getPlotItem().getViewBox().setBackgroundColor(palette.plot)
        for axis in (self.bottom, self.left):
            axis.dress(palette)
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
