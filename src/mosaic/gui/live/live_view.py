"""LiveView: Live frames"""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout

from mosaic.gui.stage.stage_page import StagePage
from mosaic.gui.widgets.empty_state import EmptyState
from mosaic.gui.workbench import Workbench


class LiveView(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        QVBoxLayout(self).addWidget(EmptyState(workbench.theme, "grid", "Live frames"))
