"""TabsPanel: the right panel, with those tabs that the leading run has."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.tabs.kinds import TAB_KINDS
from mosaic.gui.tabs.no_run_page import NoRunPage
from mosaic.gui.tabs.run_tab import RunTab, TabKind
from mosaic.gui.tabs.tab_bar import TabBar
from mosaic.gui.widgets.roles import with_role
from mosaic.gui.workbench import Workbench

_CHOSEN = "tabs/chosen"
_SMALLEST = QSize(320, 160)


class _Pages(QWidget):
    """The widest of the tabs does not decide how narrow the panel may be."""

    def minimumSizeHint(self) -> QSize:
        return _SMALLEST


class TabsPanel(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
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
        self.no_run_page = NoRunPage(workbench)
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(4, 4, 4, 4)
        inner.setSpacing(0)
        inner.addWidget(self.bar)
        pages = _Pages()
        self._stack = QStackedLayout(pages)
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
        self._wanted = tab_id
        self.bar.choose(tab_id)

    def show_nth(self, number: int) -> None:
        if number < len(self._kinds):
            self.show_tab(self.tab_ids[number])

    def close_tabs(self) -> None:
        self._workbench.settings.setValue(_CHOSEN, self._wanted)
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
        self._layout.setCurrentIndex(1)
        self._show_current()

    def _on_selection_changed(self, selection: tuple[str, ...]) -> None:
        for tab in self._made.values():
            tab.show_selection(selection)

    def _rebuild(self, kinds: dict[str, TabKind]) -> None:
        self._kinds = kinds
        stays = self.bar.current if self.bar.current in kinds else next(iter(kinds), "")
        self.bar.show_kinds(tuple(kinds.values()), self._wanted if self._wanted in kinds else stays)

    def _on_chosen(self, tab_id: str) -> None:
        self._wanted = tab_id
        self._show_current()

    def _show_current(self) -> None:
        tab = self.tab(self.bar.current) if self._record is not None else None
        if tab is not None:
            self._stack.setCurrentWidget(tab)
        self._activate(tab if self.isVisible() else None)

    def _activate(self, tab: RunTab | None) -> None:
        if tab is not self._active:
            if self._active is not None:
                self._active.set_active(False)
            self._active = tab
            if tab is not None:
                tab.set_active(True)
