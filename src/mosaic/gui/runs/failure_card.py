"""FailureCard: why the leading run failed, and what to do about it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.model.failure import FailureText, failure_text
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.possible_actions import ACTION_LOOKS, RunAction, problem_of
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import eliding_label, with_role

_ICON = QSize(20, 20)
_OFFERED = (RunAction.RESUME, RunAction.RESUBMIT, RunAction.EDIT)


class FailureCard(QWidget):
    log_asked = Signal()
    action_asked = Signal(str, str)  # RunAction, run id

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "failure")
        self.setObjectName("failure-card")
        self._workbench = workbench
        self._run_id = ""
        self.text: FailureText | None = None
        self._picture = QLabel()
        self.happened, self.advice = eliding_label(), eliding_label("", "muted")
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.happened)
        words.addWidget(self.advice)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 8, 6)
        layout.setSpacing(8)
        layout.addWidget(self._picture)
        layout.addLayout(words, 1)
        self.log_button = self._button("Show log", self.log_asked.emit)
        self.buttons = {action: self._action_button(action) for action in _OFFERED}
        self.copy_button = self._button("Copy details", self._on_copy)
        for button in (self.log_button, *self.buttons.values(), self.copy_button):
            layout.addWidget(button)
        workbench.theme.changed.connect(self._draw)
        state = workbench.state
        state.selection_changed.connect(self._on_changed)
        state.details_changed.connect(self._on_changed)
        state.runs.changed.connect(self._on_runs_changed)
        self._draw()
        self._on_changed()

    def _button(self, text: str, clicked: object) -> QPushButton:
        button = QPushButton(text)
        button.clicked.connect(clicked)
        return button

    def _action_button(self, action: RunAction) -> QPushButton:
        return self._button(
            ACTION_LOOKS[action].title, lambda: self.action_asked.emit(action.value, self._run_id)
        )

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._workbench.state.leading_id in changed:
            self._on_changed()

    def _on_changed(self, *_: object) -> None:
        record = self._leading()
        self.text = None if record is None else failure_text(record, self._can_resume(record))
        self._run_id = record.run_id if record else ""
        if self.text is not None:
            self.happened.setText(self.text.happened)
            self.advice.setText(self.text.advice)
            for line in (self.happened, self.advice):
                line.setToolTip(f"{self._run_id}\n{self.text.whole}")
            for action, button in self.buttons.items():
                button.setVisible(action in self.text.offers)
        self.setVisible(self.text is not None)

    def _leading(self) -> RunRecord | None:
        """The whole record when it is there: its log's tail tells more."""
        state = self._workbench.state
        if state.details is not None and state.details.run_id == state.leading_id:
            return state.details
        return state.runs.get(state.leading_id)

    def _can_resume(self, record: RunRecord) -> bool:
        worker = self._workbench.state.worker(record.worker)
        able = worker.capabilities if worker else None
        return not problem_of(RunAction.RESUME, record, able)

    def _on_copy(self) -> None:
        if self.text is not None:
            QGuiApplication.clipboard().setText(f"Run {self._run_id}\n{self.text.whole}\n")
            self._workbench.state.say(Notice("Details copied"))

    def _draw(self) -> None:
        theme: Theme = self._workbench.theme
        self._picture.setPixmap(theme.icon("alert-circle", theme.palette.bad).pixmap(_ICON))
