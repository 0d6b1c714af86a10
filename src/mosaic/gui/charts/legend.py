"""Legend: which colour is which run, with its value; a click hides a curve or shows it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QGridLayout, QScrollArea, QWidget

from mosaic.gui.state.chart_numbers import value_text
from mosaic.gui.state.curve import Curve
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import with_role

_ROW = 22
_COLUMN = 250  # at least so wide
_SWATCH = QSize(12, 3)
_BAND = QSize(12, 9)
_VALUE_WIDTH = 76
_GAP = 8
_MAX_ROWS = 4


class LegendEntry(QAbstractButton):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._note = self._value = ""
        self._colour = ""
        self._is_band = False
        self.setCheckable(True)
        self.setChecked(True)
        self.setFixedHeight(_ROW)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.changed.connect(self.update)

    def show_curve(self, curve: Curve) -> None:
        self._colour, self._note, self._is_band = curve.colour, curve.note, curve.is_band
        self.setText(curve.label)
        self.setAccessibleName(f"Curve of {curve.label}")
        about = f"{curve.label} ({curve.note})" if curve.note else curve.label
        if curve.is_band:
            about += "\nLine: interquartile mean; band: lowest to highest seed"
        if len(curve.marker_xs):
            about += "\nDiamonds: evaluations"
        about += f"\nNumber: {curve.value_name}; below the pointer, the value there"
        self.setToolTip(f"{about}\nClick to hide or show")
        self.update()

    def show_value(self, text: str) -> None:
        if text != self._value:
            self._value = text
            self.update()

    @property
    def value(self) -> str:
        return self._value

    @property
    def note(self) -> str:
        return self._note

    def sizeHint(self) -> QSize:
        return QSize(_COLUMN, _ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, _ROW)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus() or self.underMouse():
            painter.setPen(QColor(palette.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.hover))
            painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 4, 4)
        is_on = self.isChecked()
        self._paint_swatch(painter, QColor(self._colour), is_on)
        text_left = 4 + _SWATCH.width() + _GAP
        room = self.width() - text_left - _VALUE_WIDTH - _GAP
        painter.setPen(QColor(palette.text if is_on else palette.muted))
        metrics = QFontMetrics(self.font())
        note_width = metrics.horizontalAdvance(self._note) + _GAP if self._note else 0
        name = metrics.elidedText(
            self.text(), Qt.TextElideMode.ElideMiddle, max(24, room - note_width)
        )
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRect(text_left, 0, room, self.height()), middle, name)
        if self._note:
            painter.setPen(QColor(palette.muted))
            left = text_left + metrics.horizontalAdvance(name) + _GAP
            painter.drawText(QRect(left, 0, note_width, self.height()), middle, self._note)
        painter.setPen(QColor(palette.text if is_on else palette.muted))
        painter.setFont(self._theme.mono_font(12))
        value_rect = QRect(self.width() - _VALUE_WIDTH - 4, 0, _VALUE_WIDTH, self.height())
        painter.drawText(value_rect, middle | Qt.AlignmentFlag.AlignRight, self._value)
        painter.end()

    def _paint_swatch(self, painter: QPainter, colour: QColor, is_on: bool) -> None:
        if not is_on:
            colour = QColor(self._theme.palette.line)
        middle = self.height() // 2
        painter.setPen(Qt.PenStyle.NoPen)
        if self._is_band:
            pale = QColor(colour)
            pale.setAlphaF(0.35)
            painter.setBrush(pale)
            painter.drawRect(4, middle - _BAND.height() // 2, _BAND.width(), _BAND.height())
        painter.setBrush(colour)
        painter.drawRect(4, middle - 1, _SWATCH.width(), _SWATCH.height())


class Legend(QScrollArea):
    toggled = Signal(str, bool)  # id of the curve, whether it is shown

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: dict[str, LegendEntry] = {}
        self._columns = 0
        self._inner = with_role(QWidget(), "plain")
        self._grid = QGridLayout(self._inner)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(_GAP)
        self._grid.setVerticalSpacing(0)
        self.setWidget(self._inner)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(0)

    @property
    def entries(self) -> Mapping[str, LegendEntry]:
        return self._entries

    def show_curves(self, curves: Sequence[Curve], hidden: set[str]) -> None:
        wanted = [curve.id for curve in curves]
        if wanted != list(self._entries):
            self._rebuild(wanted)
        for curve in curves:
            entry = self._entries[curve.id]
            entry.show_curve(curve)
            entry.setChecked(curve.id not in hidden)

    def show_values(self, values: Mapping[str, float | None]) -> None:
        for curve_id, entry in self._entries.items():
            entry.show_value(value_text(values.get(curve_id)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _rebuild(self, wanted: list[str]) -> None:
        kept = {curve_id: self._entries.pop(curve_id, None) for curve_id in wanted}
        for entry in self._entries.values():
            self._grid.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
        self._entries = {
            curve_id: entry or self._new_entry(curve_id) for curve_id, entry in kept.items()
        }
        self._columns = 0
        self._arrange()

    def _new_entry(self, curve_id: str) -> LegendEntry:
        entry = LegendEntry(self._theme)
        entry.clicked.connect(lambda on, curve_id=curve_id: self.toggled.emit(curve_id, on))
        return entry

    def _arrange(self) -> None:
        count = len(self._entries)
        columns = max(1, min(count or 1, self.viewport().width() // _COLUMN))
        rows = -(-count // columns)
        self.setFixedHeight(min(rows, _MAX_ROWS) * _ROW)
        if columns == self._columns:
            return
        self._columns = columns
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        for index, entry in enumerate(self._entries.values()):
            # Down the columns, so that a list stays a list.
            self._grid.addWidget(entry, index % rows, index // rows)
        for column in range(columns):
            self._grid.setColumnStretch(column, 1)
