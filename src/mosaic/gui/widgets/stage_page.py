"""StagePage: one page of the centre."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget


class StagePage(QWidget):
    def open(self) -> None:
        """It is shown now, or shall show something else; what, is in the state."""

    def leave(self) -> None:
        """Another page is shown: processes, streams and timers end here."""
