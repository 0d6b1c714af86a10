"""The rows of the command palette: what is found, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from mosaic.gui.state.palette_search import Kind, PaletteItem
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import GAP, RADIUS

_HEIGHT, _ICON = 32, 16
_ICONS = {
    Kind.COMMAND: "chevron-right",
    Kind.RUN: "chart-line",
    Kind.ENVIRONMENT: "earth",
    Kind.ALGORITHM: "function-variant",
}
_AnyIndex = QModelIndex | QPersistentModelIndex


class PaletteModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.items: list[PaletteItem] = []

    def show_items(self, items: Sequence[PaletteItem]) -> None:
        self.beginResetModel()
        self.items = list(items)
        self.endResetModel()

    def rowCount(self, parent: _AnyIndex = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self.items)

    def data(self, index: _AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.items[index.row()].title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            item = self.items[index.row()]
            return f"{item.kind.value}: {item.title} {item.detail}"
        return None


class PaletteDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: _AnyIndex) -> QSize:
        return QSize(200, _HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _AnyIndex) -> None:
        model = index.model()
        assert isinstance(model, PaletteModel)
        item, palette = model.items[index.row()], self._theme.palette
        room: QRect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.selected))
            painter.drawRoundedRect(room, RADIUS, RADIUS)
        room = room.adjusted(GAP, 0, -GAP, 0)
        picture = QRect(room.left(), room.top() + (room.height() - _ICON) // 2 + 1, _ICON, _ICON)
        self._theme.icon(_ICONS[item.kind], palette.muted).paint(painter, picture)
        room.setLeft(picture.right() + GAP)
        metrics = painter.fontMetrics()
        room.setRight(room.right() - self._draw_hint(painter, item, room, metrics))
        painter.setPen(QColor(palette.text))
        title = metrics.elidedText(item.title, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, title)
        room.setLeft(room.left() + metrics.horizontalAdvance(title) + GAP)
        painter.setPen(QColor(palette.muted))
        detail = metrics.elidedText(item.detail, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, detail)
        painter.restore()

    def _draw_hint(
        self, painter: QPainter, item: PaletteItem, room: QRect, metrics: QFontMetrics
    ) -> int:
        """At the right; returns how much room it took."""
        if not item.hint:
            return 0
        painter.setPen(QColor(self._theme.palette.muted))
        alignment = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(room, alignment, item.hint)
        return metrics.horizontalAdvance(item.hint) + GAP
