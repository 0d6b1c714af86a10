"""What is shown before a start: what would run, what stands in its way, which keys to use."""

from __future__ import annotations

import shlex

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.check_result import CheckResult
from mosaic.errors import MosaicError
from mosaic.gui.launch.model.choices import RosterEntry
from mosaic.gui.launch.model.field_lookup import error_sentence
from mosaic.gui.launch.model.launch_form import LaunchForm
from mosaic.gui.launch.model.launch_state import KeyRow
from mosaic.gui.launch.model.script_form import ScriptForm
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, set_property, with_role
from mosaic.wire.answers import Submission

_ICON = QSize(14, 14)
_COMMAND_HEIGHT = 64


class DryRunCard(QWidget):
    """What would be run, and what stands in its way."""

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


# Programs and folders are looked up when somebody stops typing.
_PAUSE_MS = 250


class ScriptPreview(QWidget):
    """Exactly what would run, before somebody starts it."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("script-preview")
        self._workbench = workbench
        self._form: ScriptForm | None = None
        self._reading: Task | None = None
        self._text = label(role="code")
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(4)
        layout.addWidget(label("This will run", "caption"))
        layout.addWidget(self._text)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._read)
        self.hide()

    @property
    def text(self) -> str:
        return self._text.text()

    def show_form(self, form: LaunchForm | None, is_ready: bool) -> None:
        self._form = form if isinstance(form, ScriptForm) and is_ready else None
        if self._form is None:
            self._stop()
            self.hide()
        else:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._stop()

    def _read(self) -> None:
        self._stop()  # what was entered before is not shown any more
        if self._form is not None:
            self._reading = self._workbench.bridge.work(
                self._form.preview(), self._on_read, self._on_failed
            )

    def _on_read(self, lines: list[str]) -> None:
        self._show("\n".join(lines), "code")

    def _on_failed(self, error: MosaicError) -> None:
        self._show(error_sentence(error), "error")

    def _show(self, text: str, role: str) -> None:
        set_property(self._text, "role", role)
        self._text.setText(text)
        self.show()

    def _stop(self) -> None:
        self._timer.stop()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


class AbsentCard(QWidget):
    """What a worker that is not installed does, and what it needs."""

    asked_again = Signal()

    def __init__(self) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("absent-worker")
        self._title, self._about, self._needs = label(role="section"), label(), label(role="muted")
        self.again = QPushButton("Look again")
        self.again.setToolTip("Ask the daemon which workers there are now")
        self.again.clicked.connect(self.asked_again)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.setSpacing(6)
        for text in (self._title, self._about, self._needs):
            text.setWordWrap(True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            layout.addWidget(text)
        layout.addWidget(self.again, 0, Qt.AlignmentFlag.AlignLeft)
        self.hide()

    def show_entry(self, entry: RosterEntry | None) -> None:
        self.setVisible(entry is not None)
        if entry is not None:
            self._title.setText(f"{entry.title} is not installed")
            self._about.setText(entry.about)
            self._needs.setText(
                f"It needs {entry.needs}. Install that where the daemon runs, then look again; "
                "all other workers can be used meanwhile."
            )

    def texts(self) -> str:
        return "\n".join(item.text() for item in (self._title, self._about, self._needs))


class PlayCard(QWidget):
    """Which keys do what in the chosen environment."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("play-keys")
        self._rows: list[KeyRow] = []
        self._labels: list[QLabel] = []
        self._title = label("Keys")
        self._note = label(role="caption")
        self._note.setWordWrap(True)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._title)
        layout.addLayout(self._grid)
        layout.addWidget(self._note)

    def show_keys(self, rows: list[KeyRow], note: str) -> None:
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._title.setVisible(bool(rows))
        if rows == self._rows:
            return
        self._rows = rows
        for item in self._labels:
            self._grid.removeWidget(item)
            item.hide()
            item.deleteLater()
        self._labels = []
        for place, row in enumerate(rows):
            keys, text = label(row.keys, "key"), label(row.text, "muted")
            text.setWordWrap(True)
            self._grid.addWidget(keys, place, 0)
            self._grid.addWidget(text, place, 1)
            self._labels += [keys, text]
