"""What tabs show text in: RowTable, with rows and columns, and FactList, with names and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFont, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QGridLayout,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QTableView,
    QWidget,
)

from mosaic.gui.tabs.model import Column, Row, Tone, growth
from mosaic.gui.theme import fonts
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import FONT, Palette
from mosaic.gui.widgets.roles import label, with_role

_ROW_HEIGHT = 26
_MONO_SIZE = 12
_Index = QModelIndex | QPersistentModelIndex


class RowModel(QAbstractTableModel):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._columns: tuple[Column, ...] = ()
        self._rows: list[Row] = []

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    @property
    def columns(self) -> Sequence[Column]:
        return self._columns

    def show_rows(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Selection and scroll position stay where rows are only added in front."""
        how = growth(self._rows, rows) if tuple(columns) == self._columns else None
        if how is None:
            self.beginResetModel()
            self._columns, self._rows = tuple(columns), list(rows)
            self.endResetModel()
            return
        if how.removed:
            first = len(self._rows) - how.removed
            self.beginRemoveRows(QModelIndex(), first, len(self._rows) - 1)
            del self._rows[first:]
            self.endRemoveRows()
        if how.added:
            self.beginInsertRows(QModelIndex(), 0, how.added - 1)
            self._rows = list(rows)
            self.endInsertRows()
        elif self._rows != list(rows):
            self._rows = list(rows)
            corner = self.index(len(self._rows) - 1, len(self._columns) - 1)
            self.dataChanged.emit(self.index(0, 0), corner)

    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row, column = self._rows[index.row()], self._columns[index.column()]
        roles = Qt.ItemDataRole
        match role:
            case roles.DisplayRole:
                return row.cells[index.column()]
            case roles.ToolTipRole:
                text = row.cells[index.column()]
                return row.help or (column.help if column.is_link else text)
            case roles.TextAlignmentRole:
                return _alignment(column)
            case roles.FontRole:
                return self._font(row, column)
            case roles.ForegroundRole:
                return self._colour(row, column)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation is not Qt.Orientation.Horizontal or section >= len(self._columns):
            return None
        column = self._columns[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.title
            case Qt.ItemDataRole.ToolTipRole:
                return column.help or column.title
            case Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(column)
        return None

    def _font(self, row: Row, column: Column) -> QFont | None:
        if column.is_number:
            return self._theme.mono_font(_MONO_SIZE)
        if row.tone is not Tone.GONE:
            return None
        struck = fonts.words(FONT)
        struck.setStrikeOut(True)
        return struck

    def _colour(self, row: Row, column: Column) -> QColor | None:
        palette = self._theme.palette
        if column.is_link:
            return QColor(palette.accent)
        return tone_colour(row.tone, palette)


class RowTable(QTableView):
    """Rows of text in columns, drawn only where they are seen."""

    activated_row = Signal(object)  # its key: clicked where it links, or Enter on it

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self._model = RowModel(theme)
        self._longest: list[int] = []  # characters, column by column, since it has these columns
        self.setModel(self._model)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        vertical = self.verticalHeader()
        vertical.setVisible(False)
        vertical.setDefaultSectionSize(_ROW_HEIGHT)
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(28)
        with_role(self, "dense")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.clicked.connect(self._on_clicked)
        theme.changed.connect(self.viewport().update)

    @property
    def rows(self) -> Sequence[Row]:
        return self._model.rows

    def show_rows(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        if tuple(columns) != tuple(self._model.columns):
            self._longest = [0] * len(columns)
        self._model.show_rows(columns, rows)
        longest = [
            max((len(row.cells[index]) for row in rows), default=0) for index in range(len(columns))
        ]
        if any(now > before for now, before in zip(longest, self._longest, strict=True)):
            self._longest = list(map(max, longest, self._longest))
            self._fit_columns()

    def _fit_columns(self) -> None:
        """To what is in them; they only grow, so that live numbers do not make them jump."""
        header = self.horizontalHeader()
        modes = QHeaderView.ResizeMode
        header.setStretchLastSection(False)  # else the last one would not be measured
        wide = [index for index, column in enumerate(self._model.columns) if column.is_wide]
        for index in range(header.count()):
            header.setSectionResizeMode(index, modes.Interactive)
        self.resizeColumnsToContents()
        for index in wide:
            header.setSectionResizeMode(index, modes.Stretch)
        header.setStretchLastSection(not wide)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.currentIndex().isValid():
            self._activate(self.currentIndex().row())
            return
        super().keyPressEvent(event)

    def _on_clicked(self, index: QModelIndex) -> None:
        if self._model.columns[index.column()].is_link:
            self._activate(index.row())

    def _activate(self, row: int) -> None:
        if any(column.is_link for column in self._model.columns):
            self.activated_row.emit(self._model.rows[row].key)


def tone_colour(tone: Tone, palette: Palette) -> QColor | None:
    colours = {
        Tone.GOOD: palette.good,
        Tone.BAD: palette.bad,
        Tone.MUTED: palette.muted,
        Tone.GONE: palette.muted,
    }
    return QColor(colours[tone]) if tone in colours else None


def _alignment(column: Column) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column.is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class _Value(QLabel):
    """Wraps, except for paths and addresses: those have no spaces, and lose their middle."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._whole = ""

    def show_text(self, text: str) -> None:
        self._whole = text
        self.setWordWrap(not self._is_place())
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _is_place(self) -> bool:
        return self._whole.startswith(("/", "http://", "https://"))

    def _fit(self) -> None:
        text = self._whole
        if self._is_place():
            middle = Qt.TextElideMode.ElideMiddle
            lines = text.splitlines()
            text = "\n".join(
                self.fontMetrics().elidedText(line, middle, self.width()) for line in lines
            )
        if text != self.text():
            self.setText(text)


class FactList(QWidget):
    """Names and values below one another; values wrap and can be selected."""

    def __init__(self, name_width: int = 104) -> None:
        super().__init__()
        self._name_width = name_width
        self._facts: tuple[tuple[str, str, str], ...] = ()
        self._labels: list[tuple[QLabel, _Value]] = []
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(8)
        self._layout.setVerticalSpacing(8)
        self._layout.setColumnMinimumWidth(0, name_width)
        self._layout.setColumnStretch(1, 1)

    def show_facts(self, facts: Sequence[tuple[str, str, str]]) -> None:
        """Name, value and help of each."""
        if tuple(facts) == self._facts:
            return
        self._facts = tuple(facts)
        while len(self._labels) < len(facts):
            self._add_line()
        for index, (name, value) in enumerate(self._labels):
            is_used = index < len(facts)
            name.setVisible(is_used)
            value.setVisible(is_used)
            if is_used:
                name.setText(facts[index][0])
                value.show_text(facts[index][1])
                name.setToolTip(facts[index][2])
                value.setToolTip(facts[index][2] or facts[index][1])

    def value(self, name: str) -> str:
        return next((value for known, value, _ in self._facts if known == name), "")

    def _add_line(self) -> None:
        name, value = label(role="muted"), _Value()
        name.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        row = len(self._labels)
        self._layout.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
        self._layout.addWidget(value, row, 1)
        self._labels.append((name, value))
