"""LogView: lines of a log; at its end it follows, elsewhere it stays where it is."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from mosaic.gui.state.log_lines import MOST_LINES, STDERR, LogLine
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import with_role


class LogView(QPlainTextEdit):
    follow_changed = Signal(bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        with_role(self, "log")
        self._theme = theme
        self.is_following = True
        self._is_writing = False
        self.setObjectName("log-view")
        self.setAccessibleName("Log of the run")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(MOST_LINES)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def follow(self, is_following: bool) -> None:
        if is_following != self.is_following:
            self.is_following = is_following
            self.follow_changed.emit(is_following)
        if is_following:
            self._go_to_end()

    def show_lines(self, lines: Sequence[LogLine]) -> None:
        """These and no others."""
        self._is_writing = True
        self.clear()
        self._is_writing = False
        self.add_lines(lines)

    def add_lines(self, lines: Sequence[LogLine]) -> None:
        newest = lines[-MOST_LINES:]
        if not newest:
            return
        self._is_writing = True
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        is_first = self.document().isEmpty()
        # One insertion for a stretch of lines of one stream: a line each would be far dearer.
        for stream, stretch in itertools.groupby(newest, key=lambda line: line.stream):
            text = "\n".join(line.text for line in stretch)
            cursor.insertText(text if is_first else f"\n{text}", self._format(stream))
            is_first = False
        cursor.endEditBlock()
        self._is_writing = False
        if self.is_following:
            self._go_to_end()

    def _format(self, stream: str) -> QTextCharFormat:
        found = QTextCharFormat()
        palette = self._theme.palette
        found.setForeground(QColor(palette.warning if stream == STDERR else palette.text))
        return found

    def _go_to_end(self) -> None:
        bar = self.verticalScrollBar()
        self._is_writing = True
        bar.setValue(bar.maximum())
        self._is_writing = False

    def _on_scrolled(self, value: int) -> None:
        if not self._is_writing:
            self.follow(value >= self.verticalScrollBar().maximum())
