"""Draws a map of values: cells with their colour, kind and best moves. No state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap, QPolygonF

from mosaic.gui.theme import fonts
from mosaic.gui.theme.theme import Theme
from mosaic.gui.value_map.model import Cell, MapView, cell_number, colour_of, ink_on

_ICONS = {
    "start": "flag-outline",
    "goal": "flag-checkered",
    "stop": "map-marker",
    "door": "door",
    "lava": "waves",
    "cliff": "slope-downhill",
}
# Those that fill their cell; others stand in its corner, beside the arrows.
_CENTRED = frozenset(("goal", "lava", "cliff"))
_LEAST_ICON, _LEAST_ARROW, _LEAST_LINES, _LEAST_TEXT = 12, 9, 7, 46
_ARROW_TURNS = {"right": 0, "down": 90, "left": 180, "up": 270}
_HOLE = {"dark": "#07080b", "light": "#3a414d"}
_AGENT = "#e69f00"
_AGENT_INK = "#0d1020"


@dataclass(frozen=True)
class Grid:
    """Where cells are drawn: squares on whole pixels where there is room for that."""

    left: float
    top: float
    side: float
    rows: int
    columns: int

    def rect(self, index: int) -> QRectF:
        row, column = divmod(index, self.columns)
        return QRectF(
            self.left + column * self.side, self.top + row * self.side, self.side, self.side
        )

    def index_at(self, x: float, y: float) -> int | None:
        if self.side <= 0:
            return None
        row, column = (y - self.top) // self.side, (x - self.left) // self.side
        if 0 <= row < self.rows and 0 <= column < self.columns:
            return int(row) * self.columns + int(column)
        return None


def draw_cells(painter: QPainter, view: MapView, grid: Grid, theme: Theme, ratio: float) -> None:
    drawer = _Cells(painter, view, grid, theme, ratio)
    for cell in view.cells:
        drawer.draw(cell)


class _Cells:
    def __init__(
        self, painter: QPainter, view: MapView, grid: Grid, theme: Theme, ratio: float
    ) -> None:
        self._painter, self._view, self._grid, self._theme = painter, view, grid, theme
        self._ratio = ratio
        self._pictures: dict[tuple[str, str, int], QPixmap] = {}
        self._has_lines = grid.side >= _LEAST_LINES
        self._font = fonts.numbers(10)

    def draw(self, cell: Cell) -> None:
        painter, palette = self._painter, self._theme.palette
        box = self._grid.rect(cell.index)
        if self._has_lines:
            box = box.adjusted(0.5, 0.5, -0.5, -0.5)
        ground = self._ground(cell)
        painter.fillRect(box, QColor(ground))
        ink = ink_on(ground)
        match cell.kind:
            case "wall":
                self._hatch(box, palette.muted, Qt.BrushStyle.Dense3Pattern)
            case "hole":
                self._hole(box, is_small=cell.is_coloured)
            case "cliff" | "lava" if not cell.is_coloured:
                self._hatch(box, palette.warning, Qt.BrushStyle.Dense6Pattern)
            case _ if cell.best is None and cell.kind != "goal":
                self._hatch(box, palette.line, Qt.BrushStyle.BDiagPattern)
        self._mark(cell, box, ink)
        if cell.best is not None and cell.is_coloured:
            self._moves(cell, box, ink)
            self._number(cell.best, box, ink)

    def _ground(self, cell: Cell) -> str:
        palette, scale = self._theme.palette, self._view.scale
        if cell.is_coloured and cell.best is not None and scale is not None:
            return colour_of(scale.share(cell.best), palette)
        return palette.line if cell.kind == "wall" else palette.panel

    def _hatch(self, box: QRectF, colour: str, pattern: Qt.BrushStyle) -> None:
        self._painter.fillRect(box, QBrush(QColor(colour), pattern))

    def _hole(self, box: QRectF, *, is_small: bool) -> None:
        painter, palette = self._painter, self._theme.palette
        if is_small:
            side = box.width() * 0.36
            box = QRectF(box.left(), box.top(), side, side)
        edge = box.width() * 0.14
        painter.setPen(QPen(QColor(palette.muted), 1) if self._has_lines else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(_HOLE[palette.name]))
        painter.drawEllipse(box.adjusted(edge, edge, -edge, -edge))

    def _mark(self, cell: Cell, box: QRectF, ink: str) -> None:
        name, side = _ICONS.get(cell.kind), box.width()
        if name is None:
            return
        palette = self._theme.palette
        colour = ink if cell.is_coloured else palette.text
        if side < _LEAST_ICON:
            # Too small for a picture: a frame still tells it from the floor.
            self._painter.setPen(QPen(QColor(colour), 1))
            self._painter.setBrush(Qt.BrushStyle.NoBrush)
            self._painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))
            return
        is_centred = cell.kind in _CENTRED and not cell.is_coloured
        size = round(side * (0.6 if is_centred else 0.36))
        at = box.center() - QPointF(size / 2, size / 2)
        if not is_centred:
            at = box.topLeft() + QPointF(side * 0.04, side * 0.04)
        self._painter.drawPixmap(at, self._picture(name, colour, size))

    def _picture(self, name: str, colour: str, size: int) -> QPixmap:
        key = (name, colour, size)
        if key not in self._pictures:
            icon = self._theme.icon(name, colour)
            self._pictures[key] = icon.pixmap(QSize(size, size), self._ratio)
        return self._pictures[key]

    def _moves(self, cell: Cell, box: QRectF, ink: str) -> None:
        side = box.width()
        if side < _LEAST_ARROW:
            return
        painter, middle = self._painter, box.center()
        if side >= _LEAST_TEXT:
            middle -= QPointF(0, min(6.0, side * 0.1))  # there is a number below it
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ink))
        if not cell.moves or "" in cell.moves:
            # It was met, and either no action is better than another or the best goes nowhere.
            radius = max(1.0, side * 0.05)
            painter.drawEllipse(middle, radius, radius)
        arrows = [move for move in cell.moves if move]
        for move in arrows:
            painter.save()
            painter.translate(middle)
            painter.rotate(_ARROW_TURNS[move])
            begin = side * (-0.24 if len(cell.moves) == 1 else 0.08)
            painter.drawPolygon(
                _arrow(begin, side * (0.26 if len(cell.moves) == 1 else 0.38), side)
            )
            painter.restore()

    def _number(self, value: float, box: QRectF, ink: str) -> None:
        if box.width() < _LEAST_TEXT:
            return
        painter, room = self._painter, box.adjusted(2, 2, -4, -2)
        painter.setFont(self._font)
        painter.setPen(QColor(ink))
        where = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom
        text = cell_number(value)
        if painter.fontMetrics().horizontalAdvance(text) <= room.width():
            painter.drawText(room, where, text)


def _arrow(begin: float, end: float, side: float) -> QPolygonF:
    """To the right, around the origin's line."""
    shaft, head = side * 0.035, side * 0.11
    neck = max(begin, end - side * 0.16)
    return QPolygonF(
        [
            QPointF(begin, -shaft),
            QPointF(neck, -shaft),
            QPointF(neck, -head),
            QPointF(end, 0),
            QPointF(neck, head),
            QPointF(neck, shaft),
            QPointF(begin, shaft),
        ]
    )


def draw_walk(painter: QPainter, grid: Grid, trail: Sequence[int], *, is_here: bool) -> None:
    """The way an agent came, older parts paler; hollow where it is in another layer."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    centres = [grid.rect(index).center() for index in trail]
    for place, (begin, end) in enumerate(pairwise(centres), 1):
        colour = QColor(_AGENT)
        colour.setAlphaF(0.15 + 0.75 * place / len(centres))
        pen = QPen(colour, max(1.5, grid.side * 0.07))
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.setPen(pen)
        painter.drawLine(begin, end)
    if not centres:
        return
    radius = max(2.5, grid.side * 0.2)
    painter.setPen(QPen(QColor(_AGENT_INK if is_here else _AGENT), max(1.0, radius * 0.25)))
    painter.setBrush(QColor(_AGENT) if is_here else QBrush(Qt.BrushStyle.NoBrush))
    painter.drawEllipse(centres[-1], radius, radius)
