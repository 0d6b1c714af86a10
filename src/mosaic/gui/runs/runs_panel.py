"""RunsPanel: the lower panel."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.gui.widgets.roles import with_role
from mosaic.gui.workbench import Workbench


class RunsPanel(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "panel")
        QVBoxLayout(self)
