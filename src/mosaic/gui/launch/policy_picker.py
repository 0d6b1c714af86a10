"""PolicyPicker: a checkpoint of a run, newest first, or a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.launch.model.choices import PolicyChoice, policy_choices
from mosaic.gui.launch.model.field_lookup import error_sentence
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.rerun import policy_of
from mosaic.gui.state.targets import PolicyTarget
from mosaic.gui.widgets.roles import label, with_role

_NAME = Qt.ItemDataRole.UserRole + 1
_ARROW = 40


class _PolicyCombo(QComboBox):
    opening = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(4)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Closed, only the name: what else is known stands below."""
        with QPainter(self) as painter:
            option = QStyleOptionComboBox()
            self.initStyleOption(option)
            name = self.currentData(_NAME) or self.placeholderText()
            option.currentText = option.fontMetrics.elidedText(
                name, Qt.TextElideMode.ElideMiddle, max(self.width() - _ARROW, 0)
            )
            self.style().drawComplexControl(
                QStyle.ComplexControl.CC_ComboBox, option, painter, self
            )
            self.style().drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option, painter, self)

    def showPopup(self) -> None:
        self.opening.emit()
        view = self.view()
        widest = view.sizeHintForColumn(0) if self.count() else 0
        view.setMinimumWidth(max(self.width(), widest + 32))
        super().showPopup()


class PolicyPicker(QWidget):
    chosen = Signal(object)  # PolicyTarget

    def __init__(self, workbench: Workbench, worker: Callable[[], str]) -> None:
        """`worker` says whose checkpoints are wanted now; empty for any."""
        super().__init__()
        self.setObjectName("policy-picker")
        self._workbench, self._worker = workbench, worker
        self._env_id = ""
        self._choices: list[PolicyChoice] = []
        self._policy: PolicyTarget | None = None
        self._reading: Task | None = None
        self.combo = _PolicyCombo()
        self.combo.setObjectName("policy")
        self.combo.setAccessibleName("Policy")
        self.combo.activated.connect(self._on_activated)
        self.combo.opening.connect(self.reload)
        self.file_button = with_role(QToolButton(), "flat")
        self.file_button.setAccessibleName("Import a file")
        self.file_button.setToolTip("A checkpoint file…")
        self.file_button.clicked.connect(self._on_browse)
        self._detail, self._problem = label(role="caption"), label(role="error")
        top = QHBoxLayout()
        top.setSpacing(4)
        top.addWidget(self.combo, 1)
        top.addWidget(self.file_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(label("Policy"))
        layout.addLayout(top)
        for text in (self._detail, self._problem):
            text.setWordWrap(True)
            layout.addWidget(text)
        self._problem.hide()
        workbench.theme.changed.connect(self._draw)
        workbench.state.runs.changed.connect(self._on_runs_changed)
        self._draw()

    def show_policies(self, env_id: str, policy: PolicyTarget | None) -> None:
        """`env_id` limits them to one environment; empty does not."""
        self._stop_reading()  # an answer that is still under way would replace this one
        self._env_id, self._policy = env_id, policy
        self.reload()
        self._take_newest()
        if policy is not None and policy.run is None and policy.run_id:
            self._read_run(policy)

    def reload(self) -> None:
        state = self._workbench.state
        self._choices = policy_choices(state.runs, worker=self._worker(), env_id=self._env_id)
        with QSignalBlocker(self.combo):
            self.combo.clear()
            for choice in self._choices:
                self.combo.addItem(f"{choice.text}  ·  {choice.detail}", choice.run_id)
                self.combo.setItemData(self.combo.count() - 1, choice.text, _NAME)
            if self._policy is not None and self._policy.run is None:
                self.combo.insertItem(0, self._policy.checkpoint.name, "")
                self.combo.setItemData(0, self._policy.checkpoint.name, _NAME)
            self.combo.setCurrentIndex(self._row())
        is_empty = self.combo.count() == 0
        self.combo.setEnabled(not is_empty)
        where = f" in {self._env_id}" if self._env_id else ""
        self.combo.setPlaceholderText("none yet" if is_empty else "choose…")
        self._detail.setText(
            f"No checkpoint{where} yet: train one, or take a file"
            if is_empty
            else self._detail_text()
        )
        self._detail.setVisible(bool(self._detail.text()))

    def choose(self, run_id: str) -> None:
        """The paths of a run come with its whole record only."""
        self._stop_reading()
        self._show_problem("")
        self._reading = self._workbench.bridge.ask(
            lambda client: client.get_run(run_id), self._on_record, self._on_failed
        )

    def _read_run(self, policy: PolicyTarget) -> None:
        """Of a checkpoint that was chosen in the session before."""
        self._reading = self._workbench.bridge.ask(
            lambda client: client.get_run(policy.run_id),
            lambda record: self._use(replace(policy, run=record)),
            lambda _: None,  # the file may be there all the same
        )

    def focusables(self) -> list[QWidget]:
        return [self.combo, self.file_button]

    def _row(self) -> int:
        if self._policy is None:
            return -1
        return self.combo.findData(self._policy.run.run_id if self._policy.run else "")

    def _detail_text(self) -> str:
        policy = self._policy
        if policy is None:
            return ""
        if policy.run is None:
            return str(policy.checkpoint)
        run_id = policy.run.run_id
        return next((item.detail for item in self._choices if item.run_id == run_id), "")

    def _on_activated(self, row: int) -> None:
        run_id = self.combo.itemData(row)
        if run_id:
            self.choose(run_id)

    def _on_record(self, record: RunRecord) -> None:
        try:
            self._use(policy_of(record))
        except MosaicError as error:
            self._on_failed(error)

    def _on_failed(self, error: MosaicError) -> None:
        self._show_problem(error_sentence(error))
        self.combo.setCurrentIndex(self._row())

    def _use(self, policy: PolicyTarget) -> None:
        self._policy = policy
        self._show_problem("")
        self.reload()
        self.chosen.emit(policy)

    def _show_problem(self, text: str) -> None:
        self._problem.setText(text)
        self._problem.setVisible(bool(text))

    def _on_browse(self) -> None:
        dialog = QFileDialog(self, "A checkpoint")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.choose_file)
        dialog.open()

    def choose_file(self, path: str) -> None:
        self._stop_reading()
        self._use(PolicyTarget(Path(path), self._worker()))

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if not self.isVisible():
            return  # read again when it is shown
        runs, known = self._workbench.state.runs, {item.run_id for item in self._choices}
        for run_id in changed - known:
            record = runs.get(run_id)
            if record is not None and record.checkpoint_uri:
                self.reload()
                self._take_newest()
                return

    def _take_newest(self) -> None:
        """Mostly it is the one that was just trained."""
        if self._policy is None and self._choices:
            self.choose(self._choices[0].run_id)

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()

    def _draw(self) -> None:
        theme = self._workbench.theme
        self.file_button.setIcon(theme.icon("file-import-outline", theme.palette.muted))
