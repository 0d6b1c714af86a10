"""ChartGrid: the room for the charts, and the scroll bar beside it."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget
from pytestqt.qtbot import QtBot

from mosaic.gui.charts.grid import ChartGrid

SIZE = QSize(420, 300)


class Fickle(QWidget):
    """Fits into the grid only beside a scroll bar, or only where there is none."""

    def __init__(self, edge: int, is_tall_where_wide: bool) -> None:
        super().__init__()
        self._edge, self._is_tall_where_wide = edge, is_tall_where_wide
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return 180 if (width > self._edge) == self._is_tall_where_wide else 40

    def sizeHint(self) -> QSize:
        return QSize(100, self.heightForWidth(self.width()))


def test_a_scroll_bar_that_changes_what_fits_ends_nothing(qtbot: QtBot) -> None:
    for edge in range(SIZE.width() - 30, SIZE.width() + 1):
        for is_tall_where_wide in (False, True):
            grid = ChartGrid()
            qtbot.addWidget(grid)
            grid.choose_columns(1)
            grid.show_cards([Fickle(edge, is_tall_where_wide) for _ in range(4)])
            grid.resize(SIZE)
            grid.show()
            QApplication.processEvents()
            grid.resize(SIZE + QSize(5, 5))
            QApplication.processEvents()
            assert grid.viewport().width() > SIZE.width() / 2
            grid.close()
