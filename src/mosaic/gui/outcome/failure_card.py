"""FailureCard: why a run failed, what to do about it, and the end of what it printed."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.outcome.button_flow import ButtonFlow
from mosaic.gui.outcome.log_tail import LogTail
from mosaic.gui.outcome.model.failure import FailureText
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.possible_actions import ACTION_LOOKS, RunAction
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(20, 20)
_OFFERED = (RunAction.RESUME, RunAction.RESUBMIT, RunAction.EDIT)


class FailureCard(QWidget):
    log_asked = Signal()
    action_asked = Signal(str)  # RunAction

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "failure")
        self.setObjectName("failure-card")
        self._workbench = workbench
        self._run_id = ""
        self.text: FailureText | None = None
        self._picture = QLabel()
        self.happened, self.advice = label("", "section"), label("", "muted")
        for line in (self.happened, self.advice):
            line.setWordWrap(True)
            line.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.tail = LogTail("failure-tail")
        self.log_button = self._button("Show log", self.log_asked.emit)
        self.buttons = {action: self._action_button(action) for action in _OFFERED}
        self.copy_button = self._button("Copy details", self._on_copy)
        self._flow = ButtonFlow()
        self._lay_out()
        workbench.theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    def show_failure(self, run_id: str, text: FailureText | None) -> None:
        """None: it did not fail."""
        if (run_id, text) == (self._run_id, self.text):
            return
        self._run_id, self.text = run_id, text
        if text is not None:
            self.happened.setText(text.happened)
            self.advice.setText(text.advice)
            self.advice.setVisible(bool(text.advice))
            for line in (self.happened, self.advice):
                line.setToolTip(f"{run_id}\n{text.whole}")
            self.tail.show_lines(text.tail)
            self._show_buttons(text)
        self.setVisible(text is not None)

    def _show_buttons(self, text: FailureText) -> None:
        for action, button in self.buttons.items():
            button.setVisible(action in text.offers)
        offered = [button for action, button in self.buttons.items() if action in text.offers]
        self._flow.show_buttons((*offered, self.log_button, self.copy_button))

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(4)
        words.addWidget(self.happened)
        words.addWidget(self.advice)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(words, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 12, 12)
        layout.setSpacing(10)
        layout.addLayout(top)
        layout.addWidget(self.tail)
        layout.addLayout(self._flow)

    def _button(self, text: str, clicked: Callable[[], None]) -> QPushButton:
        button = QPushButton(text, self)
        button.clicked.connect(lambda: clicked())
        return button

    def _action_button(self, action: RunAction) -> QPushButton:
        return self._button(
            ACTION_LOOKS[action].title, lambda: self.action_asked.emit(action.value)
        )

    def _on_copy(self) -> None:
        if self.text is not None:
            QGuiApplication.clipboard().setText(f"Run {self._run_id}\n{self.text.whole}\n")
            self._workbench.state.say(Notice("Details copied"))

    def _draw(self) -> None:
        theme = self._workbench.theme
        self._picture.setPixmap(theme.icon("alert-circle", theme.palette.bad).pixmap(_ICON))
