"""TagsPopup and NotePopup: what a person gives the selected runs, beside the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent
from PySide6.QtWidgets import (
    QCompleter,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.run_labels import MAX_NOTE, LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.model.labels import tags_change, tags_text, what_is_labelled
from mosaic.gui.widgets.roles import label, with_role

_WIDTH = 420
_NOTE_HEIGHT = 110


class LabelPopup(QWidget):
    """Escape gives nothing; a click elsewhere gives what was typed."""

    given = Signal(object, list)  # LabelChange, ids of runs

    def __init__(self, parent: QWidget, name: str) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        with_role(self, "card")
        self.setObjectName(name)
        self._run_ids: list[str] = []
        self._is_refused = False
        self.title = label("", "section")
        self.hint = label("", "caption")
        self.hint.setWordWrap(True)
        self.button = with_role(QPushButton("Save"), "primary")
        self.button.clicked.connect(self.hide)
        self.setFixedWidth(_WIDTH)

    def lay_out(self, editor: QWidget) -> None:
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.hint, 1)
        foot.addWidget(self.button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(8)
        layout.addWidget(self.title)
        layout.addWidget(editor)
        layout.addLayout(foot)

    def open_at(self, records: Sequence[RunRecord], editor: QWidget) -> None:
        self._run_ids = [record.run_id for record in records]
        self._is_refused = False
        panel = self.parentWidget()
        assert panel is not None
        self.adjustSize()
        corner = panel.mapToGlobal(QPoint(16, 0))
        self.move(corner.x(), max(0, corner.y() - self.height() - 8))
        self.show()
        editor.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._is_refused = True
            self.hide()
        else:
            super().keyPressEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        change = None if self._is_refused else self.change()
        run_ids, self._run_ids = self._run_ids, []
        if change is not None and run_ids:
            self.given.emit(change, run_ids)

    def change(self) -> LabelChange | None:
        """None where nothing is other than it was."""
        raise NotImplementedError


class TagsPopup(LabelPopup):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, "edit-tags")
        self.line = QLineEdit()
        self.line.setPlaceholderText("baseline lr-sweep")
        self.line.setAccessibleName("Tags, separated by blanks")
        self.line.returnPressed.connect(self.hide)
        self.hint.setText("Words with blanks in between.")
        self._before = ""
        self.lay_out(self.line)

    def open(self, records: Sequence[RunRecord], known: Iterable[str]) -> None:
        self.title.setText(f"Tags of {what_is_labelled(records)}")
        self._before = tags_text(records)
        self.line.setText(f"{self._before} " if self._before else "")
        names = sorted(known)
        shared = " (those that all of them have)" if len(records) > 1 else ""
        used = f" In use: {', '.join(names[:8])}." if names else ""
        self.hint.setText(f"Words with blanks in between{shared}.{used}")
        self.line.setCompleter(_WordCompleter(names, self.line))
        self.open_at(records, self.line)

    def change(self) -> LabelChange | None:
        return tags_change(self._before, self.line.text())


class NotePopup(LabelPopup):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, "edit-note")
        self.text = QPlainTextEdit()
        self.text.setFixedHeight(_NOTE_HEIGHT)
        self.text.setTabChangesFocus(True)
        self.text.setPlaceholderText("what this run is for, what came of it")
        self.text.setAccessibleName("Note")
        self.text.textChanged.connect(self._on_typed)
        self._before = ""
        self.lay_out(self.text)

    def open(self, record: RunRecord) -> None:
        self.title.setText(f"Note on {record.run_name}")
        self._before = record.note
        self.text.setPlainText(record.note)
        self._on_typed()
        self.open_at([record], self.text)

    def change(self) -> LabelChange | None:
        text = self.text.toPlainText().strip()
        return None if text == self._before.strip() else LabelChange(note=text[:MAX_NOTE])

    def _on_typed(self) -> None:
        left = MAX_NOTE - len(self.text.toPlainText())
        told = "Saved when you click elsewhere; Escape leaves it as it was."
        too_long = f"{-left:,} characters too many: they are cut off."
        self.hint.setText(told if left >= 0 else too_long)


class _WordCompleter(QCompleter):
    """Completes the word at the end of the line."""

    def __init__(self, words: list[str], parent: QLineEdit) -> None:
        super().__init__(words, parent)
        self.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self._line = parent

    def splitPath(self, path: str) -> list[str]:
        return [path.rpartition(" ")[2]]

    def pathFromIndex(self, index: object) -> str:
        before, blank, _ = self._line.text().rpartition(" ")
        word = super().pathFromIndex(index)  # type: ignore[arg-type]
        return f"{before}{blank}{word}"
