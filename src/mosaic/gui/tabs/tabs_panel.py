"""TabsPanel: the right panel, with those tabs that the leading run has."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedLayout, QTabWidget, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.tabs.kinds import TAB_KINDS
from mosaic.gui.tabs.run_tab import RunTab, TabKind
from mosaic.gui.widgets.empty_state import EmptyState
from mosaic.gui.widgets.roles import with_role
from mosaic.gui.workbench import Workbench


class TabsPanel(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "panel")
        self._workbench = workbench
        self._made: dict[str, RunTab] = {}
        self._shown: tuple[str, ...] = ()  # ids of the tabs
        self._active: RunTab | None = None
        self._wanted = ""  # the tab the person chose last, kept from run to run
        self._tabs = QTabWidget()
        self._tabs.setDocumentMode(True)
        self._tabs.tabBar().setExpanding(False)
        self._tabs.setUsesScrollButtons(True)
        self._tabs.currentChanged.connect(self._on_current_changed)
        self._tabs.tabBarClicked.connect(self._on_clicked)
        self._empty = EmptyState(
            workbench.theme,
            "chart-line",
            "No run selected",
            "Choose a run below: its curves, checkpoints and files appear here.",
        )
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(4, 4, 4, 4)
        inner.addWidget(self._tabs)
        self._layout = QStackedLayout(self)
        self._layout.setContentsMargins(1, 1, 1, 1)
        self._layout.addWidget(self._empty)
        self._layout.addWidget(page)
        state = workbench.state
        state.details_changed.connect(self._on_details_changed)
        state.selection_changed.connect(self._on_selection_changed)
        state.tab_asked.connect(self.show_tab)

    @property
    def tab_ids(self) -> tuple[str, ...]:
        return self._shown

    def tab(self, tab_id: str) -> RunTab | None:
        """One that has been made already."""
        return self._made.get(tab_id)

    def show_tab(self, tab_id: str) -> None:
        """Stays wanted until the selected run has it."""
        self._wanted = tab_id
        if tab_id in self._shown:
            self._tabs.setCurrentIndex(self._shown.index(tab_id))

    def show_nth(self, number: int) -> None:
        if number < len(self._shown):
            self.show_tab(self._shown[number])

    def close_tabs(self) -> None:
        self._activate(None)

    def _on_details_changed(self, record: RunRecord | None) -> None:
        if record is None:
            if not self._workbench.state.selection:
                self._layout.setCurrentIndex(0)
                self._activate(None)
            return
        kinds = tuple(kind for kind in TAB_KINDS if kind.is_there(record))
        if tuple(kind.id for kind in kinds) != self._shown:
            self._rebuild(kinds)
        self._layout.setCurrentIndex(1)
        for tab_id in self._shown:
            self._made[tab_id].show_run(record)
        if self._active is None:
            self._on_current_changed(self._tabs.currentIndex())

    def _on_selection_changed(self, selection: tuple[str, ...]) -> None:
        for tab in self._made.values():
            tab.show_selection(selection)

    def _rebuild(self, kinds: tuple[TabKind, ...]) -> None:
        self._tabs.blockSignals(True)
        self._tabs.clear()
        selection = self._workbench.state.selection
        for kind in kinds:
            if kind.id not in self._made:
                self._made[kind.id] = kind.make(self._workbench)
                self._made[kind.id].show_selection(selection)
            self._tabs.addTab(self._made[kind.id], kind.title)
        self._shown = tuple(kind.id for kind in kinds)
        if self._wanted in self._shown:
            self._tabs.setCurrentIndex(self._shown.index(self._wanted))
        self._tabs.blockSignals(False)
        self._on_current_changed(self._tabs.currentIndex())

    def _on_clicked(self, index: int) -> None:
        if 0 <= index < len(self._shown):
            self._wanted = self._shown[index]

    def _on_current_changed(self, index: int) -> None:
        is_one = 0 <= index < len(self._shown)
        self._activate(self._made[self._shown[index]] if is_one else None)

    def _activate(self, tab: RunTab | None) -> None:
        if tab is not self._active:
            if self._active is not None:
                self._active.set_active(False)
            self._active = tab
            if tab is not None:
                tab.set_active(True)
