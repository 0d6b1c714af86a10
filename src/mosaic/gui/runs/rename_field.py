"""RenameField: the name of a run, to be typed where it stands in the table.

It is no editor of the table's own: rows of live runs change places, and what somebody types must
outlast that.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from mosaic.contracts.run_labels import MAX_NAME


class RenameField(QLineEdit):
    given = Signal(str, str)  # run id, name; only where it is another

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("rename-run")
        self.setAccessibleName("Name of the run")
        self.setMaxLength(MAX_NAME)
        self.run_id = ""
        self._before = ""
        self.hide()

    def begin(self, run_id: str, name: str) -> None:
        self.run_id, self._before = run_id, name
        self.setText(name)
        self.selectAll()
        self.show()
        self.raise_()
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._end(is_wanted=True)
        elif event.key() == Qt.Key.Key_Escape:
            self._end(is_wanted=False)
        else:
            super().keyPressEvent(event)
            # Arrows must not move the selection below.
            event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._end(is_wanted=True)

    def _end(self, is_wanted: bool) -> None:
        if not self.isVisible():
            return
        run_id, name, before = self.run_id, self.text().strip(), self._before
        had_focus = self.hasFocus()
        self.run_id = ""
        self.hide()
        parent = self.parentWidget()
        table = parent.parentWidget() if parent is not None else None
        if had_focus and table is not None:
            table.setFocus()
        if is_wanted and name and name != before:
            self.given.emit(run_id, name)
