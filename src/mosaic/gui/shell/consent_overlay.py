"""ConsentOverlay: shows exactly what would run, and asks whether it shall."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.shell.overlay import Overlay
from mosaic.gui.state.consent_question import EXPLANATION, NO, YES, ConsentQuestion
from mosaic.gui.widgets.roles import label, with_role

_WIDTH, _MARGIN = 640, 32
_MOST_LINES = 14


class ConsentOverlay(Overlay):
    """Whatever closes it without a yes is a no. One question at a time; others wait."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("consent")
        self._questions: list[ConsentQuestion] = []
        self.title = label("", "title")
        self.title.setWordWrap(True)
        explanation = label(EXPLANATION, "muted")
        explanation.setWordWrap(True)
        self.lines = with_role(QPlainTextEdit(), "code")
        self.lines.setReadOnly(True)
        self.lines.setAccessibleName("What would run")
        self.yes = QPushButton(YES)
        self.yes.clicked.connect(self._on_yes)
        self.no = with_role(QPushButton(NO), "primary")
        self.no.clicked.connect(self.dismiss)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self.yes)
        buttons.addWidget(self.no)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(12)
        layout.addWidget(self.title)
        layout.addWidget(explanation)
        layout.addWidget(self.lines)
        layout.addLayout(buttons)

    @property
    def question(self) -> ConsentQuestion | None:
        return self._questions[0] if self._questions else None

    def ask(self, question: ConsentQuestion) -> None:
        self._questions.append(question)
        if len(self._questions) == 1:
            self._show_question(question)

    def first_focus(self) -> QWidget:
        return self.no  # Return means no, too

    def place_card(self) -> None:
        self.card.setFixedWidth(min(_WIDTH, self.width() - _MARGIN))
        question = self.question
        height = self.lines.fontMetrics().lineSpacing()
        rows = min(_MOST_LINES, 2 * len(question.consent.lines) + 1 if question else 1)
        self.lines.setFixedHeight(max(3, rows) * height + 16)
        self.card.adjustSize()
        left, top = self.width() - self.card.width(), self.height() - self.card.height()
        self.card.move(QPoint(left // 2, max(0, top // 3)))

    def dismiss(self) -> None:
        super().dismiss()
        self._answer(is_yes=False)

    def _on_yes(self) -> None:
        super().dismiss()
        self._answer(is_yes=True)

    def _answer(self, *, is_yes: bool) -> None:
        if not self._questions:
            return
        question = self._questions.pop(0)
        if self._questions:
            self._show_question(self._questions[0])
        (question.granted if is_yes else question.refused)()

    def _show_question(self, question: ConsentQuestion) -> None:
        self.title.setText(question.title)
        self.lines.setPlainText(question.text)
        self.open()
        self.no.setFocus(Qt.FocusReason.OtherFocusReason)
