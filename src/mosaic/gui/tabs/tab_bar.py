"""TabBar: titles side by side, none of them cut off; what has no room is in a menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QFont, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QTabBar, QToolButton, QWidget

from mosaic.gui.state.tab_fit import shown_tabs
from mosaic.gui.tabs.run_tab import TabKind
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import with_role

_MENU_WIDTH = 32
_EDGE = 4
_PADDING = 22  # beside a title, as the style sheet has it


class _Titles(QTabBar):
    def tabSizeHint(self, index: int) -> QSize:
        title = self.tabText(index).replace("&&", "&")
        return QSize(self.width_of(title), super().tabSizeHint(index).height())

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def width_of(self, title: str) -> int:
        """With room for bold letters, which the chosen one has: nothing moves when it changes."""
        font = self.font()
        font.setWeight(QFont.Weight.DemiBold)
        return QFontMetrics(font).horizontalAdvance(title) + _PADDING


class TabBar(QWidget):
    chosen = Signal(str)  # the id, by the person or by `choose`

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._kinds: tuple[TabKind, ...] = ()
        self._shown: tuple[str, ...] = ()
        self._current = ""
        self._titles = _Titles()
        self._titles.setDrawBase(False)
        self._titles.setExpanding(False)
        self._titles.setUsesScrollButtons(False)
        self._titles.setElideMode(Qt.TextElideMode.ElideNone)
        self._titles.setAccessibleName("Tabs of the run")
        self._titles.currentChanged.connect(self._on_current_changed)
        self._menu = QMenu(self)
        self._choices = QActionGroup(self._menu)
        self.menu_button = with_role(QToolButton(), "flat")
        self.menu_button.setObjectName("all-tabs")
        self.menu_button.setAccessibleName("All tabs")
        self.menu_button.setFixedWidth(_MENU_WIDTH)
        self.menu_button.clicked.connect(self.open_menu)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(_EDGE, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._titles, 1)
        layout.addWidget(self.menu_button)
        theme.changed.connect(self._draw)
        self._draw()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(kind.id for kind in self._kinds)

    @property
    def visible_ids(self) -> tuple[str, ...]:
        return self._shown

    @property
    def current(self) -> str:
        return self._current

    def show_kinds(self, kinds: Sequence[TabKind], current: str) -> None:
        """Says nothing: whoever calls knows what is current afterwards."""
        self._kinds = tuple(kinds)
        self._current = current
        self._fill_menu()
        self._fit(is_new=True)

    def choose(self, tab_id: str) -> None:
        if tab_id in self.ids and tab_id != self._current:
            self._current = tab_id
            self._fit()
            self._choices.actions()[self.ids.index(tab_id)].setChecked(True)
            self.chosen.emit(tab_id)

    def open_menu(self) -> None:
        corner = self.menu_button.mapToGlobal(QPoint(self.menu_button.width(), 0))
        below = corner + QPoint(-self._menu.sizeHint().width(), self.menu_button.height())
        self._menu.popup(below)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _on_current_changed(self, index: int) -> None:
        if 0 <= index < len(self._shown):
            self.choose(self._shown[index])

    def _fit(self, is_new: bool = False) -> None:
        """The bar holds those that have room; the menu holds all."""
        current = self.ids.index(self._current) if self._current in self.ids else -1
        widths = [self._titles.width_of(kind.title) for kind in self._kinds]
        room = self.contentsRect().width() - _EDGE
        has_room = shown_tabs(widths, current, room, _MENU_WIDTH)
        shown = tuple(kind.id for kind, fits in zip(self._kinds, has_room, strict=True) if fits)
        self._titles.blockSignals(True)
        if is_new or shown != self._shown:
            self._shown = shown
            self._fill_titles()
        if self._current in shown:
            self._titles.setCurrentIndex(shown.index(self._current))
        self._titles.blockSignals(False)
        hidden = len(self._kinds) - len(shown)
        self.menu_button.setVisible(hidden > 0)
        self.menu_button.setToolTip(f"All tabs ({hidden} more)")

    def _fill_titles(self) -> None:
        for index in reversed(range(self._titles.count())):
            self._titles.removeTab(index)
        for number, kind in enumerate(self._kinds, 1):
            if kind.id in self._shown:
                index = self._titles.addTab(_plain(kind.title))
                hint = f" (Ctrl+{number})" if number <= 9 else ""
                self._titles.setTabToolTip(index, f"{kind.title}{hint}")

    def _fill_menu(self) -> None:
        for action in self._choices.actions():
            self._choices.removeAction(action)
        self._menu.clear()
        for number, kind in enumerate(self._kinds, 1):
            hint = f"\tCtrl+{number}" if number <= 9 else ""
            action = QAction(self._theme.icon(kind.icon), _plain(kind.title) + hint, self._menu)
            action.setCheckable(True)
            action.setChecked(kind.id == self._current)
            action.setData(kind.id)
            action.triggered.connect(self._on_menu)
            self._choices.addAction(action)
            self._menu.addAction(action)

    def _on_menu(self) -> None:
        action = self._choices.checkedAction()
        if action is not None:
            self.choose(str(action.data()))

    def _draw(self) -> None:
        self.menu_button.setIcon(self._theme.icon("dots-horizontal"))
        self._fill_menu()


def _plain(title: str) -> str:
    """Qt would take the sign for a key."""
    return title.replace("&", "&&")
