"""GameTab: about the environment of the run, or about the one that is chosen on the left."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.tabs.game_view import GameView, scrolled
from mosaic.gui.tabs.run_tab import RunTab
from mosaic.gui.widgets.segmented import Segmented
from mosaic.gui.workbench import Workbench

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
        """Whoever asks for it by name means the environment that they are choosing."""
        if tab_id == "game":
            self.which.choose(CHOSEN)
            self._draw()

    def _draw(self, *_: object) -> None:
        chosen, of_run = self._workbench.state.env_id, self._record.env_id if self._record else ""
        self.which.setVisible(bool(chosen) and chosen != of_run)
        is_chosen = self.which.value == CHOSEN and bool(chosen)
        self.view.show_environment(chosen if is_chosen else of_run)
