"""ComparePage: groups of runs over their seeds: what can be told apart, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)
from superqt import QFlowLayout

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.compare.model.comparing import (
    FEWEST,
    ComparedRuns,
    addable,
    compare_runs,
    missing_text,
    without,
    write_picture,
    write_report,
)
from mosaic.gui.compare.model.tables import group_colours, subtitle, tab_separated
from mosaic.gui.compare.results import ComparisonView, swatch
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity, notice_of, sentence_of
from mosaic.gui.widgets.choosers import ask_for_file
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.roles import eliding_label, with_role, without_mnemonics
from mosaic.gui.widgets.stage_page import BackButton, StagePage

_WIDEST_CHIP = 280
_BESIDE_THE_NAME = 56  # the colour, the cross, and what is left and right of them


class RunChip(QPushButton):
    """A run and a cross, which is in sight however long the name is."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        with_role(self, "run-chip")
        self.fit(_WIDEST_CHIP)

    def fit(self, width: int) -> None:
        room = max(24, min(width, _WIDEST_CHIP) - _BESIDE_THE_NAME)
        # The ends tell runs apart: what is in the middle goes first.
        name = self.fontMetrics().elidedText(self.name, Qt.TextElideMode.ElideMiddle, room)
        self.setText(f" {without_mnemonics(name)}  ✕")


class RunChips(QWidget):
    """The runs that are compared, each to be taken out, and others to be added."""

    removed = Signal(str)
    added = Signal(str)

    def __init__(self, workbench: Workbench, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._run_ids: tuple[str, ...] = ()
        self._chips: list[RunChip] = []
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
        for widget in (*self._chips, self.add_button):
            self._layout.addWidget(widget)

    @property
    def names(self) -> list[str]:
        return [chip.name for chip in self._chips]

    def chip(self, run_id: str) -> RunChip:
        return self._chips[self._run_ids.index(run_id)]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for chip in self._chips:
            chip.fit(self.width())

    def _chip(self, run_id: str, colour: str) -> RunChip:
        record = self._workbench.state.runs.get(run_id)
        name = record.run_name if record else run_id
        chip = RunChip(name)
        chip.fit(self.width())
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


RETURNS = "episodic return"
# Runs that are not over are compared once more from time to time.
_AGAIN_MS = 15_000


class ComparePage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("compare-page")
        self._workbench = workbench
        self._asking: Task | None = None
        self._compared: ComparedRuns | None = None
        self._asked_for: tuple[tuple[str, ...], str] | None = None
        self.back_button = BackButton(workbench.theme, workbench.state.leave_page)
        self.title = eliding_label("Compare", "section")
        self.subtitle = eliding_label("", "caption")
        self.metric_choice = QComboBox()
        self.metric_choice.setObjectName("compare-metric")
        self.metric_choice.setAccessibleName("What is compared")
        self.metric_choice.setMinimumWidth(140)
        self.metric_choice.addItem(RETURNS)
        self.metric_choice.currentTextChanged.connect(self._on_metric_chosen)
        self.export_button = QPushButton("Export ▾")
        self.export_button.setObjectName("compare-export")
        menu = QMenu(self.export_button)
        menu.addAction("HTML report…", self._on_report_asked)
        menu.addAction("Picture (PNG)…", self._on_picture_asked)
        menu.addAction("Copy tables", self.copy_tables)
        self.export_button.setMenu(menu)
        self.chips = RunChips(workbench)
        self.chips.removed.connect(self._on_chip_removed)
        self.chips.added.connect(self._on_chip_added)
        self.message = EmptyState(workbench.theme, "compare", "")
        self.page = ComparisonView(workbench.theme)
        stack = QWidget()
        self._stack = QStackedLayout(stack)
        self._stack.addWidget(self.message)
        self._stack.addWidget(self.page)
        self._again = QTimer(self)
        self._again.setInterval(_AGAIN_MS)
        self._again.timeout.connect(self._ask)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.title)
        words.addWidget(self.subtitle)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.setContentsMargins(0, 0, 8, 0)  # below, a scroll bar stands there
        head.addWidget(self.back_button)
        head.addLayout(words, 1)
        head.addWidget(self.metric_choice)
        head.addWidget(self.export_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 4, 10)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self.chips)
        layout.addWidget(stack, 1)
        workbench.state.runs.removed.connect(self._on_runs_removed)
        self._show_exportable()

    # StagePage

    def open(self) -> None:
        self._show_chips()
        self._compare()

    def leave(self) -> None:
        self._again.stop()
        self._cancel()
        self._workbench.state.colour_together({})

    # Comparing

    @property
    def _chosen_metric(self) -> str:
        return self.metric_choice.currentText()

    def _compare(self) -> None:
        run_ids = self._workbench.state.compared
        self._again.stop()
        self._cancel()
        if len(run_ids) < FEWEST:
            self._compared, self._asked_for = None, None
            self._show_message(*missing_text(len(run_ids)))
            return
        wish = (run_ids, self._chosen_metric)
        if wish != self._asked_for or self._compared is None:
            self._asked_for, self._compared = wish, None
            self._show_message("Comparing…", "Reading the curves and resampling the seeds.")
        self._ask()

    def _ask(self) -> None:
        self._cancel()
        run_ids = self._workbench.state.compared
        metric = None if self._chosen_metric == RETURNS else self._chosen_metric
        self._asking = self._workbench.bridge.ask(
            lambda client: compare_runs(client, run_ids, metric), self._on_compared, self._on_failed
        )

    def _on_compared(self, found: ComparedRuns) -> None:
        self._compared = found
        self._workbench.state.colour_together(found.groups)
        self._show_metrics(found.metrics)
        self.title.setText("Compare")
        self.subtitle.setText(subtitle(found.comparison))
        self.page.show_comparison(found.comparison, list(self._group_colours(found).values()))
        self._stack.setCurrentWidget(self.page)
        self._show_chips()
        self._show_exportable()
        runs = self._workbench.state.runs
        records = [runs.get(run_id) for run_id in self._workbench.state.compared]
        if any(record is not None and not record.is_over for record in records):
            self._again.start()

    def _on_failed(self, error: MosaicError) -> None:
        self._compared = None
        self._show_message("These runs cannot be compared", sentence_of(error))
        self._show_chips()

    def _cancel(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    # What the person does

    def copy_tables(self) -> None:
        if self._compared is not None:
            QGuiApplication.clipboard().setText(tab_separated(self.page.tables))
            self._workbench.state.say(Notice("Tables copied", Severity.GOOD))

    def export_report(self, path: Path) -> None:
        found = self._compared
        if found is not None:
            self._write(lambda: write_report(found.comparison, path))

    def export_picture(self, path: Path) -> None:
        found = self._compared
        if found is not None:
            self._write(lambda: write_picture(found.comparison, path))

    def _write(self, work: Callable[[], Path]) -> None:
        self._workbench.bridge.work(work, self._on_written, self._on_write_failed)

    def _on_written(self, path: Path) -> None:
        self._workbench.state.say(Notice(f"Written: {path}", Severity.GOOD))

    def _on_write_failed(self, error: MosaicError) -> None:
        self._workbench.state.say(notice_of(error))

    def _on_report_asked(self) -> None:
        suggested = str(Path.home() / "comparison.html")
        ask_for_file(
            self,
            "Save the report",
            "Page (*.html)",
            self.export_report,
            suggested=suggested,
            is_new=True,
        )

    def _on_picture_asked(self) -> None:
        suggested = str(Path.home() / "comparison.png")
        ask_for_file(
            self,
            "Save the plots",
            "Picture (*.png)",
            self.export_picture,
            suggested=suggested,
            is_new=True,
        )

    def _on_metric_chosen(self) -> None:
        if self._workbench.state.compared:
            self._compare()

    def _on_chip_removed(self, run_id: str) -> None:
        state = self._workbench.state
        state.compare(without(state.compared, [run_id]))

    def _on_chip_added(self, run_id: str) -> None:
        state = self._workbench.state
        state.compare((*state.compared, run_id))

    def _on_runs_removed(self, gone: frozenset[str]) -> None:
        state = self._workbench.state
        left = without(state.compared, gone)
        if left != state.compared:
            state.compared = left
            if self.isVisible():
                self.open()

    # What it looks like

    def _show_message(self, title: str, text: str) -> None:
        self.subtitle.setText("")
        self.message.show_text(title, text)
        self._stack.setCurrentWidget(self.message)
        self._show_exportable()

    def _show_exportable(self) -> None:
        self.export_button.setEnabled(self._compared is not None)

    def _show_chips(self) -> None:
        run_ids = self._workbench.state.compared
        colours = {}
        if self._compared is not None:
            of_group = self._group_colours(self._compared)
            for run_id, group in self._compared.groups.items():
                if group in of_group:
                    colours[run_id] = of_group[group]
        self.chips.show_runs(run_ids, colours)

    def _group_colours(self, found: ComparedRuns) -> dict[str, str]:
        labels = [group.label for group in found.comparison.groups]
        colour_of = self._workbench.state.colours.of
        return dict(zip(labels, group_colours(labels, found.groups, colour_of), strict=True))

    def _show_metrics(self, names: tuple[str, ...]) -> None:
        wanted = [RETURNS, *names]
        if wanted == [
            self.metric_choice.itemText(row) for row in range(self.metric_choice.count())
        ]:
            return
        chosen = self._chosen_metric
        self.metric_choice.blockSignals(True)
        self.metric_choice.clear()
        self.metric_choice.addItems(wanted)
        self.metric_choice.setCurrentText(chosen if chosen in wanted else RETURNS)
        self.metric_choice.blockSignals(False)
