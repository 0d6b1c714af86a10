"""RowDelegate: paints the table's cells. No widget per row, however many rows there are."""

from __future__ import annotations

import functools

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QHelpEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.model.rows import NUMBERS, Column, RunRow
from mosaic.gui.runs.table_model import RunsTableModel
from mosaic.gui.state.possible_actions import ACTION_LOOKS, MORE_ICON, RunAction, row_actions
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.theme import tokens
from mosaic.gui.theme.theme import Theme

ROW_HEIGHT = 28
_ICON = 16
_SLOT = 28
_SWATCH = 10
_BAR_HEIGHT = 4
_PERCENT_WIDTH = 44
_MOST_KEPT = 20_000
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


@functools.lru_cache(maxsize=256)
def _colour(name: str) -> QColor:
    """Read once: a table in motion asks thousands of times a second."""
    return QColor(name)


class RowDelegate(QStyledItemDelegate):
    def __init__(
        self, model: RunsTableModel, state: WorkbenchState, theme: Theme, parent: QAbstractItemView
    ) -> None:
        super().__init__(parent)
        self._model, self._state, self._theme = model, state, theme
        self._table = parent
        self.hovered_row = -1
        self.hovered_slot = -1
        self._numbers = theme.mono_font(tokens.FONT - 1)
        self._words = QFont(parent.font())
        self._words.setPixelSize(tokens.FONT)
        self._metrics = QFontMetrics(self._words)
        self._elided: dict[tuple[str, int], str] = {}
        self._pictures: dict[tuple[str, str], QPixmap] = {}
        theme.changed.connect(self._on_theme_changed)

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        return QSize(0, ROW_HEIGHT)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        record = self._model.record_at(index.row())
        if record is None:
            return
        row, column = self._model.row(record), Column(index.column())
        place: QRect = option.rect
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        palette = self._theme.palette
        if is_selected:
            painter.fillRect(place, _colour(palette.selected))
        elif index.row() == self.hovered_row:
            painter.fillRect(place, _colour(palette.hover))
        inner = place.adjusted(8, 0, -8, 0)
        match column:
            case Column.COLOUR:
                self._paint_swatch(painter, place, row, index.row())
            case Column.STATE:
                self._paint_state(painter, inner, row)
            case Column.PROGRESS:
                self._paint_progress(painter, inner, row, record.is_over)
            case Column.ACTIONS:
                self._paint_actions(painter, place, record, index.row(), is_selected)
            case Column.NAME:
                self._paint_name(painter, inner, row)
            case _:
                self._paint_text(painter, inner, row.text(column), column)

    def helpEvent(
        self,
        event: QHelpEvent,
        view: QAbstractItemView,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> bool:
        record = self._model.record_at(index.row())
        if record is None or index.column() != Column.ACTIONS:
            return super().helpEvent(event, view, option, index)
        slot = self.slot_at(view.visualRect(index), event.pos())
        action = self.action_at(record, slot)
        title = ACTION_LOOKS[action].title if action else "More" if slot == 0 else ""
        QToolTip.showText(event.globalPos(), title, view)
        return True

    def actions_of(self, record: RunRecord) -> tuple[RunAction, ...]:
        worker = self._state.worker(record.worker)
        return row_actions(record, worker.capabilities if worker else None)

    def slot_at(self, place: QRect, point: QPoint) -> int:
        """Which picture of the last column is there, counted from the right; -1: none."""
        if not place.contains(point):
            return -1
        slot = (place.right() - 4 - point.x()) // _SLOT
        return slot if 0 <= slot <= 2 else -1

    def action_at(self, record: RunRecord, slot: int) -> RunAction | None:
        """None for the last slot, which opens the menu, and for one that is empty."""
        actions = self.actions_of(record)
        place = len(actions) - slot
        return actions[place] if slot >= 1 and 0 <= place < len(actions) else None

    def _paint_swatch(self, painter: QPainter, place: QRect, row: RunRow, number: int) -> None:
        palette = self._theme.palette
        current = self._table.currentIndex().row()
        if number == current and self._table.hasFocus():
            painter.fillRect(place.x(), place.y(), 2, place.height(), _colour(palette.accent))
        colour = self._state.colours.of(row.run_id)
        if colour is not None:
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(_colour(colour))
            swatch = QRectF(0, 0, _SWATCH, _SWATCH)
            swatch.moveCenter(QRectF(place).center())
            painter.drawRoundedRect(swatch, 2, 2)
            painter.restore()

    def _paint_state(self, painter: QPainter, place: QRect, row: RunRow) -> None:
        colour = self._theme.state_colour(row.word)
        picture = self._picture(tokens.state_look(row.word).icon, colour)
        top = place.y() + (place.height() - _ICON) // 2
        painter.drawPixmap(QRect(place.x(), top, _ICON, _ICON), picture)
        painter.setFont(self._words)
        painter.setPen(_colour(colour))
        painter.drawText(place.adjusted(_ICON + 6, 0, 8, 0), _LEFT, row.word)

    def _paint_name(self, painter: QPainter, place: QRect, row: RunRow) -> None:
        for mark in reversed(row.marks):
            picture = self._picture(mark, self._theme.palette.muted)
            top = place.y() + (place.height() - 12) // 2
            painter.drawPixmap(QRect(place.right() - 12, top, 12, 12), picture)
            place = place.adjusted(0, 0, -18, 0)
        painter.setFont(self._words)
        painter.setPen(_colour(self._theme.palette.text))
        painter.drawText(place, _LEFT, self._fitted(row.name, place.width()))

    def _paint_text(self, painter: QPainter, place: QRect, text: str, column: Column) -> None:
        palette = self._theme.palette
        is_number = column in NUMBERS
        is_quiet = len(text) <= 1 or column in (Column.STARTED, Column.ENVIRONMENT)
        painter.setFont(self._numbers if is_number else self._words)
        painter.setPen(_colour(palette.muted if is_quiet else palette.text))
        if is_number:
            painter.drawText(place, _RIGHT, text)
        else:
            painter.drawText(place, _LEFT, self._fitted(text, place.width()))

    def _paint_progress(self, painter: QPainter, place: QRect, row: RunRow, is_over: bool) -> None:
        palette = self._theme.palette
        if row.note or row.fraction is None:
            painter.setFont(self._words)
            painter.setPen(_colour(palette.muted))
            text = row.note or row.progress
            painter.drawText(place, _LEFT, self._fitted(text, place.width()))
            return
        width = place.width() - _PERCENT_WIDTH
        top = place.center().y() - _BAR_HEIGHT // 2 + 1
        painter.fillRect(place.x(), top, width, _BAR_HEIGHT, _colour(palette.line))
        colour = palette.muted if is_over else palette.accent
        painter.fillRect(place.x(), top, round(width * row.fraction), _BAR_HEIGHT, _colour(colour))
        painter.setFont(self._numbers)
        painter.setPen(_colour(palette.muted if is_over else palette.text))
        painter.drawText(place, _RIGHT, row.progress)

    def _paint_actions(
        self, painter: QPainter, place: QRect, record: RunRecord, number: int, is_selected: bool
    ) -> None:
        palette = self._theme.palette
        is_near = number == self.hovered_row
        names = [ACTION_LOOKS[action].icon for action in self.actions_of(record)] + [MORE_ICON]
        for slot, name in enumerate(reversed(names)):
            left = place.right() - 4 - (slot + 1) * _SLOT + (_SLOT - _ICON) // 2
            top = place.y() + (place.height() - _ICON) // 2
            spot = QRect(left, top, _ICON, _ICON)
            is_hit = is_near and slot == self.hovered_slot
            if is_hit:
                painter.fillRect(spot.adjusted(-4, -4, 4, 4), _colour(palette.line))
            colour = palette.text if is_near or is_selected else palette.muted
            painter.drawPixmap(spot, self._picture(name, palette.accent if is_hit else colour))

    def _picture(self, name: str, colour: str) -> QPixmap:
        found = self._pictures.get((name, colour))
        if found is None:
            ratio = self._table.devicePixelRatioF()
            found = self._theme.icon(name, colour).pixmap(QSize(_ICON, _ICON), ratio)
            self._pictures[name, colour] = found
        return found

    def _fitted(self, text: str, width: int) -> str:
        found = self._elided.get((text, width))
        if found is None:
            if len(self._elided) > _MOST_KEPT:
                self._elided.clear()
            found = self._metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
            self._elided[text, width] = found
        return found

    def _on_theme_changed(self) -> None:
        self._pictures.clear()
