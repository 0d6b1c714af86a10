"""LogTail: the last lines that a run has printed."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPlainTextEdit

from mosaic.gui.widgets.roles import with_role

_FEWEST_LINES = 3
_EDGES = 20  # what is around the lines, above and below together


class LogTail(QPlainTextEdit):
    """As high as it is told: whoever shows it knows what else needs the room."""

    def __init__(self, name: str) -> None:
        super().__init__()
        with_role(self, "code")
        self.setObjectName(name)
        self.setAccessibleName("The last lines it printed")
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTabChangesFocus(True)

    def show_lines(self, lines: tuple[str, ...]) -> None:
        self.setPlainText("\n".join(lines))
        self.setVisible(bool(lines))
        self._show_end()

    @property
    def least_height(self) -> int:
        return self._height(min(_FEWEST_LINES, self.blockCount()))

    @property
    def whole_height(self) -> int:
        return self._height(self.blockCount())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_end()

    def _height(self, lines: int) -> int:
        self.ensurePolished()  # the style sheet has the font
        bar = self.horizontalScrollBar().sizeHint().height()  # over the last line otherwise
        return lines * self.fontMetrics().lineSpacing() + _EDGES + bar

    def _show_end(self) -> None:
        """What came last says most."""
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())
