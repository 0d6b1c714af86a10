"""TabsPanel: the right panel, with its bar and those tabs that the leading run has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QFont,
    QFontMetrics,
    QHideEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QStackedLayout,
    QTabBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.game_info.tab import GameView, scrolled
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.shell.pop_outs import PopOuts
from mosaic.gui.shell.tab_kinds import TAB_KINDS
from mosaic.gui.tabs.model import shown_tabs
from mosaic.gui.tabs.run_tab import RunTab, TabKind
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.roles import label, with_role

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
    """Titles side by side, none of them cut off; what has no room is in a menu."""

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
        self.pop_button = with_role(QToolButton(), "flat")
        self.pop_button.setObjectName("pop-out-tab")
        self.pop_button.setAccessibleName("Pop out the tab")
        self.pop_button.setToolTip("Show this tab in a window of its own")
        self.pop_button.setFixedWidth(_MENU_WIDTH)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(_EDGE, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._titles, 1)
        layout.addWidget(self.menu_button)
        layout.addWidget(self.pop_button)
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
        room = self.contentsRect().width() - _EDGE - _MENU_WIDTH
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
        self.pop_button.setEnabled(bool(self._kinds))

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
        self.pop_button.setIcon(self._theme.icon("dock-window"))
        self._fill_menu()


def _plain(title: str) -> str:
    """Qt would take the sign for a key."""
    return title.replace("&", "&&")


_ICON = QSize(24, 24)


class NoRunPage(QWidget):
    """What the right panel shows while no run is selected."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._theme = workbench.theme
        self._picture = QLabel()
        text = label("Its curves, checkpoints and files appear here.", "muted")
        text.setWordWrap(True)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label("Choose a run below", "section"))
        words.addWidget(text)
        head = with_role(QWidget(), "banner")
        row = QHBoxLayout(head)
        row.setContentsMargins(12, 10, 12, 10)
        row.setSpacing(12)
        row.addWidget(self._picture)
        row.addLayout(words, 1)
        self.game = GameView(workbench)
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(self.game)
        inner.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 8)
        layout.setSpacing(16)
        layout.addWidget(head)
        layout.addWidget(scrolled(page), 1)
        workbench.state.environment_changed.connect(self.game.show_environment)
        self.game.show_environment(workbench.state.env_id)
        workbench.theme.changed.connect(self._draw)
        self._draw()

    def _draw(self) -> None:
        icon = self._theme.icon("chart-line", self._theme.palette.muted)
        self._picture.setPixmap(icon.pixmap(_ICON))


_CHOSEN = "tabs/chosen"
_SMALLEST = QSize(320, 160)


class _Pages(QWidget):
    """The widest of the tabs does not decide how narrow the panel may be."""

    def minimumSizeHint(self) -> QSize:
        return _SMALLEST


class TabsPanel(QWidget):
    def __init__(self, workbench: Workbench, pop_outs: PopOuts) -> None:
        super().__init__()
        self._pop_outs = pop_outs
        with_role(self, "panel")
        self.setObjectName("tabs-panel")
        self._workbench = workbench
        self._made: dict[str, RunTab] = {}
        self._kinds: dict[str, TabKind] = {}  # those of the run, in their order
        self._record: RunRecord | None = None
        self._active: RunTab | None = None
        # What the person chose last; stays wanted where a run does not have it.
        self._wanted = str(workbench.settings.value(_CHOSEN, ""))
        self.bar = TabBar(workbench.theme)
        self.bar.chosen.connect(self._on_chosen)
        self.bar.pop_button.clicked.connect(self.pop_out)
        self.no_run_page = NoRunPage(workbench)
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(4, 4, 4, 4)
        inner.setSpacing(0)
        inner.addWidget(self.bar)
        pages = _Pages()
        self._stack = QStackedLayout(pages)
        self._all_out = EmptyState(
            workbench.theme,
            "dock-window",
            "All tabs are in windows of their own",
            "Closing such a window brings its tab back.",
        )
        self._stack.addWidget(self._all_out)
        inner.addWidget(pages, 1)
        self._layout = QStackedLayout(self)
        self._layout.setContentsMargins(1, 1, 1, 1)
        self._layout.addWidget(self.no_run_page)
        self._layout.addWidget(page)
        state = workbench.state
        state.details_changed.connect(self._on_details_changed)
        state.selection_changed.connect(self._on_selection_changed)
        state.tab_asked.connect(self.show_tab)

    @property
    def tab_ids(self) -> tuple[str, ...]:
        return tuple(self._kinds)

    @property
    def current_id(self) -> str:
        return self.bar.current if self._record is not None else ""

    def tab(self, tab_id: str) -> RunTab | None:
        """Made when it is first needed: ten of them at once would be felt."""
        if tab_id not in self._made and tab_id in self._kinds:
            made = self._made[tab_id] = self._kinds[tab_id].make(self._workbench)
            self._stack.addWidget(made)
            made.show_selection(self._workbench.state.selection)
            if self._record is not None:
                made.show_run(self._record)
        return self._made.get(tab_id)

    def show_tab(self, tab_id: str) -> None:
        """Stays wanted until the selected run has it."""
        window = self._pop_outs.window(tab_id)
        if window is not None:
            window.raise_()
            window.activateWindow()
            return
        self._want(tab_id)
        self.bar.choose(tab_id)

    # Tabs in windows of their own

    def pop_out(self) -> None:
        """The tab that is in front."""
        if self.current_id:
            self._take_out(self.current_id)

    def _take_out(self, tab_id: str) -> None:
        tab = self.tab(tab_id)
        if tab is None:
            return
        if tab is self._active:
            self._active = None  # it stays active where it goes
        else:
            tab.set_active(True)
        self._stack.removeWidget(tab)
        self._pop_outs.take_out(tab_id, self._title_of(tab_id), tab, partial(self._dock, tab_id))
        self._rebuild(self._kinds)
        self._show_current()

    def _dock(self, tab_id: str) -> None:
        tab = self._made[tab_id]
        tab.set_active(False)
        self._stack.addWidget(tab)
        if not self._pop_outs.is_closing:
            self._want(tab_id)  # whoever docks it wants to see it
            self._rebuild(self._kinds)
            self._show_current()

    def _title_of(self, tab_id: str) -> str:
        title = next(kind.title for kind in TAB_KINDS if kind.id == tab_id)
        return f"{title} · {self._record.run_name}" if self._record is not None else title

    def _update_windows(self) -> None:
        """Those that were out when the program ended come back; all say whose they are."""
        for tab_id in self.tab_ids:
            window = self._pop_outs.window(tab_id)
            if window is not None:
                window.show_title(self._title_of(tab_id))
            elif self._pop_outs.was_out(tab_id):
                self._take_out(tab_id)

    def show_nth(self, number: int) -> None:
        if number < len(self._kinds):
            self.show_tab(self.tab_ids[number])

    def close_tabs(self) -> None:
        self._activate(None)
        for tab in self._made.values():
            tab.close_tab()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_current()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._activate(None)

    def _on_details_changed(self, record: RunRecord | None) -> None:
        if record is None:
            # Of another run the details are on their way: until then the old ones stay.
            if not self._workbench.state.selection:
                self._record = None
                self._layout.setCurrentIndex(0)
                self._activate(None)
            return
        self._record = record
        kinds = {kind.id: kind for kind in TAB_KINDS if kind.is_there(record)}
        if tuple(kinds) != self.tab_ids:
            self._rebuild(kinds)
        for tab_id in kinds:
            if tab_id in self._made:
                self._made[tab_id].show_run(record)
        self._update_windows()
        self._layout.setCurrentIndex(1)
        self._show_current()

    def _on_selection_changed(self, selection: tuple[str, ...]) -> None:
        for tab in self._made.values():
            tab.show_selection(selection)

    def _rebuild(self, kinds: dict[str, TabKind]) -> None:
        self._kinds = kinds
        docked = {id: kind for id, kind in kinds.items() if self._pop_outs.window(id) is None}
        stays = self.bar.current if self.bar.current in docked else next(iter(docked), "")
        chosen = self._wanted if self._wanted in docked else stays
        self.bar.show_kinds(tuple(docked.values()), chosen)

    def _on_chosen(self, tab_id: str) -> None:
        self._want(tab_id)
        self._show_current()

    def _want(self, tab_id: str) -> None:
        """Kept at once: a window may end at any moment."""
        self._wanted = tab_id
        self._workbench.settings.setValue(_CHOSEN, tab_id)

    def _show_current(self) -> None:
        tab = self.tab(self.bar.current) if self._record is not None else None
        self._stack.setCurrentWidget(self._all_out if tab is None else tab)
        self._activate(tab if self.isVisible() else None)

    def _activate(self, tab: RunTab | None) -> None:
        if tab is not self._active:
            if self._active is not None:
                self._active.set_active(False)
            self._active = tab
            if tab is not None:
                tab.set_active(True)
