"""GameView: what the catalogue knows about one environment."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from mosaic.gui.state.game_info import game_info, nothing_known
from mosaic.gui.tabs.fact_list import FactList
from mosaic.gui.widgets.banner import Banner
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.workbench import Workbench


class GameView(QWidget):
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
        workbench.state.catalogue_changed.connect(self._draw)

    @property
    def env_id(self) -> str:
        return self._env_id

    def show_environment(self, env_id: str) -> None:
        self._env_id = env_id
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
        found = game_info(info, state.algorithms)
        self.family.setText(found.family)
        self.summary.setText(found.summary)
        self.missing.show_text(found.missing)
        self.facts.show_facts([(fact.name, fact.value, fact.help) for fact in found.facts])


def scrolled(widget: QWidget) -> QScrollArea:
    """As high as it wants to be, as broad as there is room."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(with_role(widget, "plain"))
    return area
