"""GameTab: about the environment of the run, or about the one that is chosen on the left."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from mosaic.contracts.bundles import VenvInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.game_info.model import game_info, nothing_known
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.compatibility import missing_packages
from mosaic.gui.state.worker_bundles import bundle_with
from mosaic.gui.tabs.row_table import FactList
from mosaic.gui.tabs.run_tab import RunTab
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.messages import Banner
from mosaic.gui.widgets.roles import label, with_role


class GameView(QWidget):
    """What the catalogue knows about one environment."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._env_id = ""
        self.title, self.family = label(role="section"), label(role="caption")
        self.summary = label()
        for text in (self.title, self.summary):
            text.setWordWrap(True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.facts = FactList()
        self.missing = Banner(workbench.theme, "package-variant")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.title)
        layout.addWidget(self.family)
        layout.addWidget(self.summary)
        layout.addWidget(self.missing)
        layout.addSpacing(8)
        layout.addWidget(self.facts)
        self._told = ""
        workbench.state.catalogue_changed.connect(self._draw)
        workbench.state.workers_changed.connect(self._on_bundles_changed)
        workbench.state.bundles.changed.connect(self._on_bundles_changed)

    @property
    def env_id(self) -> str:
        return self._env_id

    def show_environment(self, env_id: str) -> None:
        self._env_id = env_id
        self._draw()

    @property
    def _bundle(self) -> VenvInfo | None:
        state = self._workbench.state
        return bundle_with(self._env_id, state.workers, state.bundles)

    def _on_bundles_changed(self) -> None:
        """Far more often than it makes a difference here."""
        info = self._workbench.state.environment(self._env_id)
        if missing_packages(info, self._bundle) != self._told:
            self._draw()

    def _draw(self) -> None:
        state = self._workbench.state
        info = state.environment(self._env_id)
        self.title.setText(self._env_id or "No environment is chosen")
        self.facts.setVisible(info is not None)
        self.family.setVisible(info is not None)
        if info is None:
            self.missing.show_text("")
            self.summary.setText(nothing_known(self._env_id, bool(state.environments)))
            return
        found = game_info(info, state.algorithms, self._bundle)
        self._told = found.missing
        self.family.setText(found.family)
        self.summary.setText(found.summary)
        self.missing.show_text(found.missing)
        self.facts.show_facts([(fact.name, fact.value, fact.help) for fact in found.facts])


def scrolled(widget: QWidget) -> QScrollArea:
    """As high as it wants to be, as broad as there is room."""
    area = QScrollArea()
    area.setAccessibleName("About the environment")
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(with_role(widget, "plain"))
    return area


RUN, CHOSEN = "run", "chosen"


class GameTab(RunTab):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._record: RunRecord | None = None
        self.which = Segmented(((RUN, "Of this run"), (CHOSEN, "Chosen on the left")))
        self.which.chosen.connect(self._draw)
        self.view = GameView(workbench)
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, 4, 0)
        inner.addWidget(self.view)
        inner.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 4, 8)
        layout.setSpacing(12)
        layout.addWidget(self.which)
        layout.addWidget(scrolled(page), 1)
        workbench.state.environment_changed.connect(self._draw)
        workbench.state.tab_asked.connect(self._on_tab_asked)

    def show_run(self, record: RunRecord) -> None:
        if self._record is None or self._record.run_id != record.run_id:
            self.which.choose(RUN)
        self._record = record
        self._draw()

    def _on_tab_asked(self, tab_id: str) -> None:
        """Asked for by name, it shows the environment that is being chosen."""
        if tab_id == "game":
            self.which.choose(CHOSEN)
            self._draw()

    def _draw(self, *_: object) -> None:
        chosen, of_run = self._workbench.state.env_id, self._record.env_id if self._record else ""
        self.which.setVisible(bool(chosen) and chosen != of_run)
        is_chosen = self.which.value == CHOSEN and bool(chosen)
        self.view.show_environment(chosen if is_chosen else of_run)
