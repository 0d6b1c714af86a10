"""Strips below the scrubber: reward, action, value and observation, step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QEnterEvent,
    QFontMetrics,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from mosaic.gui.replay.controls import HANDLE
from mosaic.gui.replay.model.episode import EpisodeSteps
from mosaic.gui.replay.model.strips import (
    Strip,
    StripKind,
    action_strip,
    confidence_strip,
    heat_cells,
    heights,
    line_points,
    observation_strip,
    reward_strip,
    value_strip,
)
from mosaic.gui.state.runs_state import CURVES
from mosaic.gui.theme.theme import Theme

_ORDER = ("reward", "action", "value", "confidence", "observation")
_HEIGHT = 30
# Where there are more strips than usual, they leave the picture as much room.
_USUAL, _LOW = 4, 24
_EDGE = 3  # above and below a line
_RADIUS = 4
_LABEL_ALPHA = 235
# What becomes known while it plays is drawn this often.
_REDRAW_MS = 250


class StripView(QWidget):
    """As long as the scrubber's way: what is above each other happened at the same step."""

    chosen = Signal(int)  # a step

    def __init__(self, theme: Theme, strip: Strip, length: int) -> None:
        super().__init__()
        self._theme, self.strip = theme, strip
        self._length, self._step = length, 0
        self._drawn: QPixmap | None = None
        self.setObjectName(f"strip-{strip.name}")
        self.setAccessibleName(f"{strip.name.capitalize()} by step")
        self.setToolTip(f"{strip.name.capitalize()} of each step; click to go there")
        self.setFixedHeight(_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.changed.connect(self.redraw)

    def show_length(self, length: int) -> None:
        if length != self._length:
            self._length = length
            self.redraw()

    def show_step(self, step: int) -> None:
        if step != self._step:
            self._step = step
            self.update()

    def redraw(self) -> None:
        self._drawn = None
        self.update()

    def step_at(self, x: float) -> int:
        share = (x - HANDLE / 2) / self._way
        return min(max(round(share * self._length), 0), self._length)

    def place_of(self, step: float) -> float:
        return HANDLE / 2 + self._way * step / max(1, self._length)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit(self.step_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.chosen.emit(self.step_at(event.position().x()))

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._drawn = None

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._drawn is None:
            self._drawn = self._draw()
        palette = self._theme.palette
        with QPainter(self) as painter:
            painter.drawPixmap(0, 0, self._drawn)
            x = self.place_of(self._step)
            painter.setPen(QPen(QColor(palette.accent), 2))
            painter.drawLine(QPointF(x, 0), QPointF(x, self.height()))
            painter.setFont(self._theme.mono_font(11))
            if not self.underMouse():  # whoever points at it wants to see what is below
                self._paint_label(painter, self.strip.name, is_left=True)
            if text := self.strip.text_at(self._step):
                self._paint_label(painter, text, is_left=False)

    @property
    def _way(self) -> float:
        return float(max(1, self.width() - HANDLE))

    def _draw(self) -> QPixmap:
        ratio = self.devicePixelRatioF()
        pixmap = QPixmap(self.size() * ratio)
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        with QPainter(pixmap) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.palette.window))
            painter.drawRoundedRect(QRectF(self.rect()), _RADIUS, _RADIUS)
            if self.strip.kind is StripKind.HEAT:
                self._draw_heat(painter)
            else:
                self._draw_lines(painter)
        return pixmap

    def _draw_lines(self, painter: QPainter) -> None:
        low, high = self.strip.limits
        columns = self.strip.values.shape[1]
        room = self.height() - 2 * _EDGE
        for column in range(columns):
            colour = self._theme.palette.text if columns == 1 else CURVES[column % len(CURVES)]
            painter.setPen(QPen(QColor(colour), 1))
            places, shown = line_points(self.strip.values[:, column], round(self._way))
            tops = heights(shown, low, high)
            line = QPolygonF()
            for place, height in zip(places.tolist(), tops.tolist(), strict=True):
                if math.isfinite(height):
                    line.append(QPointF(self.place_of(place), _EDGE + (1 - height) * room))
                elif not line.isEmpty():
                    _draw_line(painter, line)
                    line = QPolygonF()
            _draw_line(painter, line)

    def _draw_heat(self, painter: QPainter) -> None:
        cells = heat_cells(self.strip.values, max(1, round(self._way)))
        image = _heat_image(cells, self._theme.palette.window, self._theme.palette.accent)
        # The cell of a step lies around the step's place.
        begin, end = self.place_of(-0.5), self.place_of(self.strip.length + 0.5)
        place = QRectF(begin, 1, end - begin, self.height() - 2)
        painter.drawImage(place, image)

    def _paint_label(self, painter: QPainter, text: str, *, is_left: bool) -> None:
        metrics = QFontMetrics(painter.font())
        width = metrics.horizontalAdvance(text) + 8
        height = metrics.height()
        top = (self.height() - height) / 2
        left = HANDLE / 2 if is_left else self.width() - HANDLE / 2 - width
        if not is_left and width > self._way / 2:
            return  # no room for both
        behind = QColor(self._theme.palette.panel)
        behind.setAlpha(_LABEL_ALPHA)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(behind)
        box = QRectF(left, top, width, height)
        painter.drawRoundedRect(box, 3, 3)
        palette = self._theme.palette
        painter.setPen(QColor(palette.muted if is_left else palette.text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


class StripStack(QWidget):
    """The strips that an episode has, one above the other."""

    chosen = Signal(int)  # a step

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._steps: EpisodeSteps | None = None
        self._length = 0
        self._is_wanted = True
        self.views: dict[str, StripView] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(3)
        self._redraw_timer = QTimer(self)
        self._redraw_timer.setSingleShot(True)
        self._redraw_timer.setInterval(_REDRAW_MS)
        self._redraw_timer.timeout.connect(self._on_redraw_due)
        self.hide()

    def show_episode(self, steps: EpisodeSteps | None) -> None:
        self.stop()
        for view in self.views.values():
            self._layout.removeWidget(view)
            view.hide()
            view.deleteLater()
        self.views.clear()
        self._steps = steps
        if steps is not None and len(steps):
            self._add(reward_strip(steps))
            self._add(action_strip(steps))
            # Its place is kept: the picture shall not shrink when the first one is known.
            self._add(observation_strip(len(steps), {0: (math.nan,)}))
        self._show()

    def show_values(self, values: Mapping[int, float]) -> None:
        """What the agent expected, by step."""
        if self._steps is not None and "value" not in self.views:
            self._add(value_strip(values, len(self._steps)))
            self._show()

    def show_confidence(self, told: Mapping[int, float]) -> None:
        """How sure the agent was, by step."""
        if self._steps is not None and "confidence" not in self.views:
            self._add(confidence_strip(told, len(self._steps)))
            self._show()

    def show_observed(self, profiles: Mapping[int, Sequence[float]]) -> None:
        if self._steps is None:
            return
        view = self.views.get("observation")
        if view is None:
            return
        width = len(next(iter(profiles.values()), ()))
        if view.strip.values.shape[1] == width:
            view.strip.add(profiles)
        elif (strip := observation_strip(len(self._steps), profiles)) is not None:
            view.strip = strip
        else:
            self.leave_out_observations()
        if not self._redraw_timer.isActive():
            self._redraw_timer.start()

    def leave_out_observations(self) -> None:
        """Nobody will tell them."""
        view = self.views.pop("observation", None)
        if view is not None:
            self._layout.removeWidget(view)
            view.hide()
            view.deleteLater()
            self._show()

    def show_length(self, length: int) -> None:
        """Of the scrubber: the other of two episodes may be longer."""
        self._length = length
        for view in self.views.values():
            view.show_length(length)

    def show_step(self, step: int) -> None:
        for view in self.views.values():
            view.show_step(step)

    def show_strips(self, is_wanted: bool) -> None:
        self._is_wanted = is_wanted
        self._show()

    def stop(self) -> None:
        self._redraw_timer.stop()

    def _add(self, strip: Strip | None) -> None:
        if strip is None:
            return
        view = StripView(self._theme, strip, self._length)
        view.chosen.connect(self.chosen)
        self.views[strip.name] = view
        place = sum(_ORDER.index(name) < _ORDER.index(strip.name) for name in self.views)
        self._layout.insertWidget(place, view)

    def _show(self) -> None:
        for view in self.views.values():
            view.setFixedHeight(_HEIGHT if len(self.views) <= _USUAL else _LOW)
        self.setVisible(self._is_wanted and bool(self.views))

    def _on_redraw_due(self) -> None:
        if (view := self.views.get("observation")) is not None:
            view.redraw()


def _draw_line(painter: QPainter, line: QPolygonF) -> None:
    if line.size() > 1:
        painter.drawPolyline(line)
    elif line.size() == 1:
        painter.drawPoint(line.first())


def _heat_image(cells: np.ndarray, low: str, high: str) -> QImage:
    """Transparent where nothing is known; the first number is the top row."""
    begin, end = QColor(low), QColor(high)
    shares = np.nan_to_num(cells, nan=0.0)[..., None]
    first = np.array([begin.blue(), begin.green(), begin.red()], np.float32)
    last = np.array([end.blue(), end.green(), end.red()], np.float32)
    pixels = np.zeros((*cells.shape, 4), np.uint8)
    pixels[..., :3] = first + (last - first) * shares
    pixels[..., 3] = np.where(np.isfinite(cells), 255, 0)
    height, width = cells.shape
    image = QImage(pixels.tobytes(), width, height, 4 * width, QImage.Format.Format_ARGB32)
    return image.copy()  # with pixels of its own
