"""MapCanvas: the cells, and what the pointer and the arrow keys do on them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.value_map.model import MapView, Walk
from mosaic.gui.value_map.painting import Grid, draw_cells, draw_walk

_SMALLEST, _WANTED = QSize(120, 120), QSize(320, 320)
_LARGEST_CELL = 112
_KEYS = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Down: "down",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
}


class MapCanvas(QWidget):
    cell_clicked = Signal(int)
    looked_at = Signal(object)  # the cell below the pointer or the cursor, or None

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._view: MapView | None = None
        self._walk: Walk | None = None
        self._drawn: QPixmap | None = None  # all but what moves
        self._hovered: int | None = None
        self._pressed: int | None = None
        self.cursor_cell = 0
        self.setMouseTracking(True)
        self.setMinimumSize(_SMALLEST)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Map of values")
        theme.changed.connect(self._redraw)

    def sizeHint(self) -> QSize:
        return _WANTED

    def show_view(self, view: MapView | None) -> None:
        is_other = view is None or self._view is None or view.map != self._view.map
        self._view = view
        if is_other:
            self._hovered = self._pressed = None
            self.cursor_cell = 0
        self.setAccessibleDescription("" if view is None else view.summary())
        self._redraw()

    def show_walk(self, walk: Walk | None) -> None:
        self._walk = walk
        self.update()

    @property
    def grid(self) -> Grid:
        view = self._view
        if view is None:
            return Grid(0, 0, 0, 0, 0)
        rows, columns = view.map.rows, view.map.columns
        side = min((self.width() - 2) / columns, (self.height() - 2) / rows, _LARGEST_CELL)
        side = float(int(side)) if side >= 4 else max(side, 0.01)
        left = (self.width() - side * columns) / 2
        return Grid(
            float(int(left)), float(int((self.height() - side * rows) / 2)), side, rows, columns
        )

    @property
    def cell_looked_at(self) -> int | None:
        if self._view is None:
            return None
        if self._hovered is not None:
            return self._hovered
        return self.cursor_cell if self.hasFocus() else None

    def _redraw(self) -> None:
        self._drawn = None
        self.update()
        self.looked_at.emit(self.cell_looked_at)

    # What a person does

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.grid.index_at(event.position().x(), event.position().y()))

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = self.grid.index_at(event.position().x(), event.position().y())
            if self._pressed is not None:
                self._point(self._pressed)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Whoever has moved to another cell meanwhile has thought better of it."""
        released = self.grid.index_at(event.position().x(), event.position().y())
        pressed, self._pressed = self._pressed, None
        is_click = event.button() is Qt.MouseButton.LeftButton and pressed == released
        if is_click and released is not None:
            self.cell_clicked.emit(released)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        view = self._view
        if view is None:
            event.ignore()
        elif event.key() in _KEYS:
            self._hovered = None
            self._point(view.beside(self.cursor_cell, _KEYS[Qt.Key(event.key())]))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.cell_clicked.emit(self.cursor_cell)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._look()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._look()

    def _hover(self, index: int | None) -> None:
        if index != self._hovered:
            self._hovered = index
            self._look()

    def _point(self, index: int) -> None:
        self.cursor_cell = index
        self._look()

    def _look(self) -> None:
        self.update()
        self.looked_at.emit(self.cell_looked_at)

    # What is drawn

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._drawn = None

    def paintEvent(self, event: QPaintEvent) -> None:
        view, grid = self._view, self.grid
        if view is None:
            return
        with QPainter(self) as painter:
            painter.drawPixmap(0, 0, self._cells(view, grid))
            if self._walk is not None:
                is_here = self._walk.layer == view.layer
                draw_walk(painter, grid, list(self._walk.trail), is_here=is_here)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            if self._hovered is not None:
                self._frame(painter, grid.rect(self._hovered), self._theme.palette.text, 1)
            if self.hasFocus():
                self._frame(painter, grid.rect(self.cursor_cell), self._theme.palette.accent, 2)

    def _cells(self, view: MapView, grid: Grid) -> QPixmap:
        ratio = self.devicePixelRatioF()
        if self._drawn is None or self._drawn.devicePixelRatio() != ratio:
            self._drawn = QPixmap(self.size() * ratio)
            self._drawn.setDevicePixelRatio(ratio)
            self._drawn.fill(Qt.GlobalColor.transparent)
            with QPainter(self._drawn) as painter:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                whole = grid.rect(0).united(grid.rect(len(view.cells) - 1))
                painter.fillRect(whole, QColor(self._theme.palette.line))
                draw_cells(painter, view, grid, self._theme, ratio)
        return self._drawn

    def _frame(self, painter: QPainter, box: QRectF, colour: str, width: int) -> None:
        painter.setPen(QPen(QColor(colour), width))
        painter.drawRect(box.adjusted(0, 0, -1, -1))
