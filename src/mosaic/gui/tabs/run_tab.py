"""RunTab: one tab about the selected runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.workbench import Workbench


class RunTab(QWidget):
    """Asks for data only while it is active: shown, and its tab in front."""

    def show_run(self, record: RunRecord) -> None:
        """The whole record of the leading run; called again whenever it has changed."""
        raise NotImplementedError

    def show_selection(self, run_ids: tuple[str, ...]) -> None:
        """All runs that are selected, the leading one first; most tabs show that one alone."""

    def set_active(self, is_active: bool) -> None:
        """Timers, streams and viewers run only in between."""

    def close_tab(self) -> None:
        """The window closes; what outlives being inactive, such as a process, ends here."""


@dataclass(frozen=True)
class TabKind:
    id: str
    title: str
    icon: str
    is_there: Callable[[RunRecord], bool]  # whether a run has this tab; pure
    make: Callable[[Workbench], RunTab]
