"""ChartGrid: charts in columns, or one of them alone, with more room in the window."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QGridLayout,
    QMainWindow,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.charts.model.page import MOST_COLUMNS, columns_for
from mosaic.gui.widgets.roles import with_role

_MAX_CARD_HEIGHT = 640
_NO_LIMIT = 16_777_215  # of Qt
_GUTTER = 8


class ChartGrid(QScrollArea):
    scrolled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Charts")
        self._cards: tuple[QWidget, ...] = ()
        self._alone: QWidget | None = None
        self._chosen = 0
        self._placed: tuple[object, ...] = ()
        content = with_role(QWidget(), "plain")
        self._grid = QGridLayout()
        self._grid.setSpacing(_GUTTER)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._grid, 1)
        layout.addStretch(0)
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self.scrolled)
        bar.rangeChanged.connect(self._keep_width)
        self._is_fitting = False
        self._keep_width(0, 0)

    @property
    def columns(self) -> int:
        shown = 1 if self._alone is not None else len(self._cards)
        return columns_for(self.width(), self._chosen, shown)

    @property
    def alone(self) -> QWidget | None:
        return self._alone

    @property
    def scrolls(self) -> bool:
        return self.verticalScrollBar().maximum() > 0

    def choose_columns(self, columns: int) -> None:
        """0: as many as have room."""
        self._chosen = columns
        self._arrange()

    def show_cards(self, cards: Sequence[QWidget]) -> None:
        self._cards = tuple(cards)
        if self._alone not in self._cards:
            self._alone = None
        self._arrange()

    def show_alone(self, card: QWidget | None) -> None:
        """None: all of them again."""
        self._alone = card
        self._arrange()
        if card is not None:
            self.verticalScrollBar().setValue(0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        columns = self.columns
        wanted = (self._cards, self._alone, columns)
        if wanted == self._placed:
            return
        self._placed = wanted
        while self._grid.count():
            self._grid.takeAt(0)
        shown = [self._alone] if self._alone is not None else list(self._cards)
        for place, card in enumerate(shown):
            card.setMaximumHeight(_NO_LIMIT if self._alone is not None else _MAX_CARD_HEIGHT)
            self._grid.addWidget(card, *divmod(place, columns))
        for card in self._cards:
            card.setVisible(card in shown)
        for column in range(MOST_COLUMNS):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def _keep_width(self, _: int, longest: int) -> None:
        """Where no scroll bar is, its room stays free: buttons do not move when it appears."""
        right = 0 if longest > 0 else self.verticalScrollBar().sizeHint().width()
        if self._is_fitting or right == self.viewportMargins().right():
            return
        # Other cards may fit then, and the bar come and go within this very call, without end.
        self._is_fitting = True
        self.setViewportMargins(0, 0, right, 0)
        self._is_fitting = False


_SHARE_ALONE = 0.62  # of the window's width


class DockRoom:
    """More of the window for the dock that a widget is in, until it is taken back."""

    def __init__(self, widget: QWidget) -> None:
        self._widget = widget
        self._width = 0  # before; 0: as it is

    def give(self) -> None:
        window, dock = self._places()
        if window is not None and dock is not None and not dock.isFloating():
            self._width = dock.width()
            wanted = max(self._width, int(window.width() * _SHARE_ALONE))
            window.resizeDocks([dock], [wanted], Qt.Orientation.Horizontal)

    def take_back(self) -> None:
        window, dock = self._places()
        width, self._width = self._width, 0
        if width and window is not None and dock is not None:
            window.resizeDocks([dock], [width], Qt.Orientation.Horizontal)

    def _places(self) -> tuple[QMainWindow | None, QDockWidget | None]:
        window, parent = self._widget.window(), self._widget.parentWidget()
        while parent is not None and not isinstance(parent, QDockWidget):
            parent = parent.parentWidget()
        return (window if isinstance(window, QMainWindow) else None), parent
