"""BundleTable: a row for each bundle, painted in two lines: what it is, and why one wants it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFont, QFontMetrics, QKeyEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from mosaic.gui.bundles.model.rows import NOTHING, NUMBERS, TITLES, BundleRow, Column
from mosaic.gui.theme import tokens
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.rows_view import RowsView

ROW_HEIGHT = 44
_PADDING, _ICON, _BAR_HEIGHT = 8, 16, 4
_WIDTHS = {Column.STATE: 168, Column.SIZE: 92, Column.USED: 88}
# Below these widths the columns give way: the size then stands below the state.
_ROOM_FOR_USED, _ROOM_FOR_SIZE = 600, 480
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
Index = QModelIndex | QPersistentModelIndex


class BundleTableModel(QAbstractTableModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[BundleRow] = []

    def show_rows(self, rows: list[BundleRow]) -> None:
        """Rows that are the same bundles as before stay selected, and only what is new is drawn."""
        if [row.name for row in rows] != [row.name for row in self.rows]:
            self.beginResetModel()
            self.rows = rows
            self.endResetModel()
            return
        before, self.rows = self.rows, rows
        for place, (old, new) in enumerate(zip(before, rows, strict=True)):
            if old != new:
                self.dataChanged.emit(self.index(place, 0), self.index(place, len(Column) - 1))

    def place(self, name: str) -> int | None:
        return next((at for at, row in enumerate(self.rows) if row.name == name), None)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(Column)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.text(index.column())
            case Qt.ItemDataRole.ToolTipRole:
                return row.tooltip
            case Qt.ItemDataRole.AccessibleTextRole:
                is_first = index.column() == Column.BUNDLE
                return row.sentence if is_first else row.text(index.column())
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[Column(section)]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in NUMBERS else _LEFT
        return None


class BundleDelegate(QStyledItemDelegate):
    def __init__(self, model: BundleTableModel, theme: Theme, parent: RowsView) -> None:
        super().__init__(parent)
        self._model, self._theme, self._view = model, theme, parent
        self._words = QFont(parent.font())
        self._words.setPixelSize(tokens.FONT)
        self._small = QFont(parent.font())
        self._small.setPixelSize(tokens.CAPTION)
        self._numbers = theme.mono_font(tokens.FONT - 1)

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
        row, palette = self._model.rows[index.row()], self._theme.palette
        place: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(place, QColor(palette.selected))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(place, QColor(palette.hover))
        inner = place.adjusted(_PADDING, 0, -_PADDING, 0)
        painter.save()
        match index.column():
            case Column.BUNDLE:
                self._paint_bundle(painter, inner, row)
            case Column.STATE:
                self._paint_state(painter, inner, row)
            case Column.SIZE:
                self._paint_lines(painter, inner, row.size, row.size_of, _RIGHT)
            case _:
                self._paint_lines(painter, inner, row.used, "", _RIGHT)
        painter.restore()

    def _paint_bundle(self, painter: QPainter, place: QRect, row: BundleRow) -> None:
        self._paint_lines(painter, place, row.title, row.about, _LEFT, self._theme.palette.text)

    def _paint_lines(
        self,
        painter: QPainter,
        place: QRect,
        first: str,
        second: str,
        aligned: int,
        colour: str = "",
    ) -> None:
        """One line in the middle where there is no second one."""
        muted = self._theme.palette.muted
        upper, lower = _halves(place) if second else (place, place)
        is_number = aligned == _RIGHT
        font = self._numbers if is_number else self._words
        for text, used, pen, line in (
            (first, font, colour or muted, upper),
            (second, self._small, muted, lower),
        ):
            painter.setFont(used)
            painter.setPen(QColor(pen))
            painter.drawText(line, aligned, _fitted(text, used, line.width()))

    def _paint_state(self, painter: QPainter, place: QRect, row: BundleRow) -> None:
        colour = QColor(getattr(self._theme.palette, row.tone.value))
        has_bar = row.fraction is not None
        below = row.text(Column.SIZE) if self._view.isColumnHidden(Column.SIZE) else ""
        below = "" if has_bar else below.removeprefix(NOTHING)
        line, lower = _halves(place) if has_bar or below else (place, place)
        if row.fraction is not None:
            self._paint_bar(painter, place, row.fraction)
        picture = self._theme.icon(row.icon, colour.name()).pixmap(QSize(_ICON, _ICON))
        top = line.y() + (line.height() - _ICON) // 2
        painter.drawPixmap(QRect(line.x(), top, _ICON, _ICON), picture)
        beside = line.adjusted(_ICON + 6, 0, 0, 0)
        painter.setFont(self._words)
        painter.setPen(colour)
        painter.drawText(beside, _LEFT, _fitted(row.state, self._words, beside.width()))
        if below:
            lower = lower.adjusted(_ICON + 6, 0, 0, 0)
            painter.setFont(self._small)
            painter.setPen(QColor(self._theme.palette.muted))
            painter.drawText(lower, _LEFT, _fitted(below, self._small, lower.width()))

    def _paint_bar(self, painter: QPainter, place: QRect, fraction: float) -> None:
        palette = self._theme.palette
        bar = QRectF(place.x(), place.bottom() - 11, place.width(), _BAR_HEIGHT)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.line))
        painter.drawRoundedRect(bar, 2, 2)
        bar.setWidth(bar.width() * min(1.0, max(0.0, fraction)))
        painter.setBrush(QColor(palette.accent))
        painter.drawRoundedRect(bar, 2, 2)


def _halves(place: QRect) -> tuple[QRect, QRect]:
    half = place.height() // 2
    upper = QRect(place.x(), place.y() + 4, place.width(), half - 4)
    return upper, QRect(place.x(), place.y() + half, place.width(), half - 4)


def _fitted(text: str, font: QFont, width: int) -> str:
    return QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, width)


class BundleTable(RowsView):
    """Return asks for what is most wanted, Delete for the removal; Escape is the page's."""

    def __init__(self, theme: Theme) -> None:
        super().__init__((Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Enter))
        self.setObjectName("bundles-table")
        self.setAccessibleName("Bundles")
        self.setMouseTracking(True)
        self.bundles = BundleTableModel(self)
        self.setModel(self.bundles)
        self.setItemDelegate(BundleDelegate(self.bundles, theme, self))
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setSectionResizeMode(Column.BUNDLE, QHeaderView.ResizeMode.Stretch)
        for column, width in _WIDTHS.items():
            header.resizeSection(column, width)
        theme.changed.connect(self.viewport().update)

    @property
    def chosen(self) -> str:
        """The name of the bundle; empty where none is chosen."""
        index = self.currentIndex()
        is_there = index.isValid() and index.row() < len(self.bundles.rows)
        return self.bundles.rows[index.row()].name if is_there else ""

    def choose(self, name: str) -> bool:
        place = self.bundles.place(name)
        if place is None:
            return False
        if self.currentIndex().row() != place:
            self.setCurrentIndex(self.bundles.index(place, 0))
        return True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        self.setColumnHidden(Column.USED, width < _ROOM_FOR_USED)
        self.setColumnHidden(Column.SIZE, width < _ROOM_FOR_SIZE)
        # What is asked below is about this row.
        self.scrollTo(self.currentIndex())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            event.ignore()
        else:
            super().keyPressEvent(event)
