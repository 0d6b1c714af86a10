"""DryRunCard: what would be run, and what stands in its way."""

from __future__ import annotations

import shlex

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role
from mosaic.wire.answers import CheckResult, Submission

_ICON = QSize(14, 14)
_COMMAND_HEIGHT = 64


class DryRunCard(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("dry-run")
        self._theme = theme
        self._title = label("Dry run")
        self._command = with_role(QPlainTextEdit(), "code")
        self._command.setReadOnly(True)
        self._command.setTabChangesFocus(True)
        self._command.setFixedHeight(_COMMAND_HEIGHT)
        self._command.setAccessibleName("The command that would be run")
        self._copy = self._button("Copy the command", self._on_copy)
        self._close = self._button("Close", self.hide)
        self._results = QWidget()
        self._grid = QGridLayout(self._results)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(4)
        self._grid.setColumnStretch(1, 1)
        top = QHBoxLayout()
        top.addWidget(self._title, 1)
        top.addWidget(self._copy)
        top.addWidget(self._close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 8)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self._command)
        layout.addWidget(self._results)
        self._shown: Submission | None = None
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    def show_submission(self, submission: Submission) -> None:
        self._shown = submission
        self._command.setPlainText(shlex.join(submission.command))
        self._title.setText("Dry run: all is well" if submission.is_ready else "Dry run: not yet")
        self._draw()
        self.show()

    def texts(self) -> list[str]:
        """All that it says about the checks."""
        return [item.text() for item in self._results.findChildren(QLabel) if item.text()]

    def _button(self, text: str, clicked: object) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setAccessibleName(text)
        button.setToolTip(text)
        button.clicked.connect(clicked)
        return button

    def _on_copy(self) -> None:
        QApplication.clipboard().setText(self._command.toPlainText())

    def _draw(self) -> None:
        muted = self._theme.palette.muted
        self._copy.setIcon(self._theme.icon("content-copy", muted))
        self._close.setIcon(self._theme.icon("close", muted))
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if self._shown is not None:
            for row, result in enumerate(self._shown.preflight):
                self._add(row, result)

    def _add(self, row: int, result: CheckResult) -> None:
        palette = self._theme.palette
        if result.ok:
            name, colour, word = "check", palette.good, "ok"
        elif result.required:
            name, colour, word = "close", palette.bad, "FAIL"
        else:
            name, colour, word = "alert-outline", palette.warning, "warning"
        picture = QLabel()
        picture.setPixmap(self._theme.icon(name, colour).pixmap(_ICON))
        picture.setAccessibleName(word)
        picture.setToolTip(word)
        fix = f"\n{result.fix}" if result.fix and not result.ok else ""
        prefix = "" if result.ok else f"{word} · "
        text = label(f"{prefix}{result.check}: {result.message}{fix}", "caption")
        text.setWordWrap(True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._grid.addWidget(picture, row, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(text, row, 1)
