"""ComparisonResults: verdicts first, then the curves and tables behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QPixmap, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QHeaderView,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.charts.plot import CurvePlot
from mosaic.gui.compare.model.tables import (
    Table,
    curves_of,
    difference_table,
    final_caption,
    final_table,
    pair_table,
)
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.widgets.rows_view import RowsView

if TYPE_CHECKING:
    from mosaic.compare.comparison import Comparison


Index = QModelIndex | QPersistentModelIndex
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_SWATCH = 10
_HEADER = 28
_ROW = 26


class _Model(QAbstractTableModel):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.table = Table((), ())
        self._font = theme.mono_font(12)

    def show(self, table: Table) -> None:
        self.beginResetModel()
        self.table = table
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        return 0 if parent.isValid() else len(self.table.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.table.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or section >= len(self.table.columns):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.table.columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in self.table.numbers else _LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = index.row(), index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.table.rows[row][column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column in self.table.numbers else _LEFT
        if role == Qt.ItemDataRole.FontRole and column in self.table.numbers:
            return self._font
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and self.table.colours:
            return swatch(self.table.colours[row])
        return None


class TableView(RowsView):
    """A small table that is as high as its rows, within a page that scrolls."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self.setAccessibleName(name)
        self.setSelectionMode(RowsView.SelectionMode.NoSelection)
        self.setSizeAdjustPolicy(QAbstractScrollArea.SizeAdjustPolicy.AdjustIgnored)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._model = _Model(theme, self)
        self.setModel(self._model)
        self.horizontalHeader().setMinimumSectionSize(44)

    @property
    def table(self) -> Table:
        return self._model.table

    def show_table(self, table: Table) -> None:
        self._model.show(table)
        header = self.horizontalHeader()
        modes = QHeaderView.ResizeMode
        for column in range(len(table.columns)):
            is_wide = column in table.wide
            header.setSectionResizeMode(
                column, modes.Stretch if is_wide else modes.ResizeToContents
            )
        self.setFixedHeight(_HEADER + _ROW * len(table.rows) + 4)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the page scrolls, not the table


def swatch(colour: str) -> QPixmap:
    found = QPixmap(_SWATCH, _SWATCH)
    found.fill(QColor(colour))
    return found


_PLOT_HEIGHT = 300


class ComparisonView(QScrollArea):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Comparison")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.verdicts = _Sentences()
        self.verdicts.setObjectName("compare-verdicts")
        self.plot = CurvePlot(theme, "steps", "")
        self.plot.setMinimumHeight(_PLOT_HEIGHT)
        self.plot.area.wheel_needs_click = True
        self.finals = TableView(theme, "Final performance")
        self._final_caption = label("", "caption")
        self.pairs = TableView(theme, "Probability of improvement")
        self.differences = TableView(theme, "What differs in the configs")
        self._pair_title = label("Probability of improvement", "section")
        self._same = label("The configs are equal but for their seeds.", "muted")
        self.notes = _Sentences()
        page = with_role(QWidget(), "plain")
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 8, 8)
        layout.setSpacing(8)
        for widget in (
            self.verdicts,
            self.plot,
            label("Final performance", "section"),
            self._final_caption,
            self.finals,
            self._pair_title,
            self.pairs,
            label("What differs", "section"),
            self._same,
            self.differences,
            label("How this was made", "section"),
            self.notes,
        ):
            # What room is left is the plot's.
            layout.addWidget(widget, 1 if widget is self.plot else 0)
        self.setWidget(page)

    @property
    def tables(self) -> list[Table]:
        return [self.finals.table, self.pairs.table, self.differences.table]

    def show_comparison(self, comparison: Comparison, colours: Sequence[str]) -> None:
        """`colours` of its groups."""
        from mosaic.compare.published import BELOW, UNCHECKED

        sentences = [(text, "verdict") for text in comparison.headlines()]
        for check in comparison.checks:
            role = {BELOW: "error", UNCHECKED: "caption"}.get(check.verdict, "good")
            sentences.append((check.sentence, role))
        sentences += [(text, "warning") for text in comparison.warnings]
        self.verdicts.show_sentences(sentences)
        self.plot.show_curves(curves_of(comparison, colours))
        self._final_caption.setText(final_caption(comparison))
        self.finals.show_table(final_table(comparison, colours))
        has_pairs = bool(comparison.pairs)
        for widget in (self._pair_title, self.pairs):
            widget.setVisible(has_pairs)
        self.pairs.show_table(pair_table(comparison))
        self._same.setVisible(not comparison.differences)
        self.differences.setVisible(bool(comparison.differences))
        self.differences.show_table(difference_table(comparison))
        self.notes.show_sentences([(note, "caption") for note in comparison.notes])


class _Sentences(QWidget):
    """Sentences below each other, as many as there are."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(4)
        self._labels: list[QLabel] = []

    @property
    def texts(self) -> list[str]:
        return [item.text() for item in self._labels]

    def show_sentences(self, sentences: Iterable[tuple[str, str]]) -> None:
        for old in self._labels:
            self._layout.removeWidget(old)
            old.deleteLater()
        self._labels = [label(text, role) for text, role in sentences]
        for item in self._labels:
            item.setWordWrap(True)
            item.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._layout.addWidget(item)
