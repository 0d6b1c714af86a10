"""RunChips: the runs that are compared, each to be taken out, and others to be added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QMenu, QPushButton, QWidget
from superqt import QFlowLayout

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.compare.table_view import swatch
from mosaic.gui.state.compare_choice import addable
from mosaic.gui.widgets.roles import with_role, without_mnemonics
from mosaic.gui.workbench import Workbench


class RunChips(QWidget):
    removed = Signal(str)
    added = Signal(str)

    def __init__(self, workbench: Workbench, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._run_ids: tuple[str, ...] = ()
        self._chips: list[QPushButton] = []
        self.add_button = with_role(QPushButton("Add run"), "run-chip")
        self.add_button.setObjectName("compare-add")
        self._menu = QMenu(self.add_button)
        self._menu.aboutToShow.connect(self._fill_menu)
        self.add_button.setMenu(self._menu)
        self._layout = QFlowLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(6)
        self._layout.setVerticalSpacing(6)
        self._layout.addWidget(self.add_button)
        workbench.theme.changed.connect(self._draw)
        self._draw()

    def show_runs(self, run_ids: Sequence[str], colours: Mapping[str, str]) -> None:
        """`colours` of those runs whose group has a curve."""
        self._run_ids = tuple(run_ids)
        for chip in self._chips:
            self._layout.removeWidget(chip)
            chip.deleteLater()
        self._layout.removeWidget(self.add_button)
        self._chips = [self._chip(run_id, colours.get(run_id, "")) for run_id in run_ids]
        for chip in (*self._chips, self.add_button):
            self._layout.addWidget(chip)

    @property
    def names(self) -> list[str]:
        return [chip.text().strip(" ✕").replace("&&", "&") for chip in self._chips]

    def chip(self, run_id: str) -> QPushButton:
        return self._chips[self._run_ids.index(run_id)]

    def _chip(self, run_id: str, colour: str) -> QPushButton:
        record = self._workbench.state.runs.get(run_id)
        name = record.run_name if record else run_id
        chip = with_role(QPushButton(f" {without_mnemonics(name)}  ✕"), "run-chip")
        chip.setToolTip(f"Take {name} ({run_id}) out of the comparison")
        chip.setAccessibleName(f"Take out {name}")
        if colour:
            chip.setIcon(swatch(colour))
            chip.setIconSize(QSize(10, 10))
        chip.clicked.connect(lambda _=False, run_id=run_id: self.removed.emit(run_id))
        return chip

    def _fill_menu(self) -> None:
        self._menu.clear()
        offered = addable(self._workbench.state.runs.newest_first(), self._run_ids)
        for record in offered:
            self._add_action(record)
        if not offered:
            self._menu.addAction("There are no other runs").setEnabled(False)

    def _add_action(self, record: RunRecord) -> None:
        action = self._menu.addAction(without_mnemonics(f"{record.run_name} · {record.env_id}"))
        action.triggered.connect(lambda _=False, run_id=record.run_id: self.added.emit(run_id))

    def _draw(self) -> None:
        self.add_button.setIcon(self._workbench.theme.icon("plus"))
