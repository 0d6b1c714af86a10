"""TrialsTab: the trials of an Optuna study, read while it continues."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QVBoxLayout, QWidget

from mosaic.analytics.optuna.study import Study
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.tabs.row_table import RowTable
from mosaic.gui.tabs.run_tab import TabPage
from mosaic.gui.trials.model import Order, TrialsReader, first_order, trials_view
from mosaic.gui.trials.pictures import StudyPictures
from mosaic.gui.widgets.roles import label

_LOOK_MS = 2000


class TrialsTab(TabPage):
    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "flask-outline", content)
        self._record: RunRecord | None = None
        self._reader: TrialsReader | None = None
        self._reading: Task | None = None
        self._is_outdated = False
        self._studies: list[Study] = []
        self._order: Order | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName("Study")
        self.choice.currentIndexChanged.connect(self._on_study)
        self.best, self.summary = label(), label(role="caption")
        for text in (self.best, self.summary):
            text.setWordWrap(True)
        self.pictures = StudyPictures(workbench)
        self.table = RowTable(workbench.theme, "Trials")
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._on_header)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for widget in (self.choice, self.best, self.summary):
            layout.addWidget(widget)
        layout.addWidget(self.pictures, 1)
        layout.addWidget(self.table, 1)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._read)
        self.say("Reading the study…")

    def show_run(self, record: RunRecord) -> None:
        is_other = self._record is None or self._record.run_id != record.run_id
        was_over = self._record is not None and self._record.is_over
        self._record = record
        if is_other:
            self._reader, self._order, self._studies = None, None, []
            self.cancel_tasks()
            self.say("Reading the study…")
        if self.is_active and (is_other or (record.is_over and not was_over)):
            self._read()
        self._pace()

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active:
            self._read()
        else:
            self.cancel_tasks()
            self.pictures.stop()
        self._pace()

    def _pace(self) -> None:
        is_live = self._record is not None and not self._record.is_over
        if self.is_active and is_live:
            if not self._timer.isActive():
                self._timer.start()
        else:
            self._timer.stop()

    def _read(self) -> None:
        if self._record is None:
            return
        if self._reading is not None and not self._reading.is_done:
            self._is_outdated = self._record.is_over  # the last trials may have come since
            return
        self._is_outdated = False
        try:
            self._reader = self._reader or TrialsReader(self._record)
        except MosaicError as error:
            self.say_error(error)
            return
        self._reading = self.keep(
            self.workbench.bridge.work(self._reader.read, self._on_read, self._on_failed)
        )

    def _on_read(self, studies: list[Study]) -> None:
        self._reading = None
        if self._is_outdated:
            self._read()
        if not studies:
            self.say("The study has no trials yet", "They appear when the search has begun.")
            return
        chosen = self._study()
        self._studies = studies
        names = [study.name for study in studies]
        if names != [self.choice.itemText(index) for index in range(self.choice.count())]:
            self.choice.blockSignals(True)
            self.choice.clear()
            self.choice.addItems(names)
            if chosen is not None and chosen.name in names:
                self.choice.setCurrentIndex(names.index(chosen.name))
            self.choice.blockSignals(False)
        self.choice.setVisible(len(names) > 1)
        self._draw()

    def _on_failed(self, error: MosaicError) -> None:
        """A writer may be busy with the file: what was read before stays."""
        self._reading = None
        if self._is_outdated:
            self._read()
        if not self._studies:
            self.say_error(error)

    def _on_study(self) -> None:
        self._order = None
        self._draw()

    def _on_header(self, column: int) -> None:
        order = self._order
        is_same = order is not None and order.column == column
        self._order = Order(column, is_same and order is not None and not order.is_descending)
        self._draw()

    def _study(self) -> Study | None:
        index = max(0, self.choice.currentIndex())
        return self._studies[index] if index < len(self._studies) else None

    def _draw(self) -> None:
        study = self._study()
        if study is None:
            return
        self._order = self._order or first_order(study)
        view = trials_view(study, self._order)
        self.show_content()
        self.best.setText(view.best)
        self.summary.setText(view.summary)
        self.table.show_rows(view.columns, view.rows)
        self.pictures.show_study(study)
