"""StopReason: asks, beside the table, why runs are stopped."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QWidget

from mosaic.gui.widgets.roles import label, with_role

_WIDTH = 420
_LONGEST = 200


class StopReason(QWidget):
    """A popup: a click elsewhere, or Escape, and nothing is stopped."""

    given = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        with_role(self, "card")
        self.setObjectName("stop-reason")
        self.line = QLineEdit()
        self.line.setMaxLength(_LONGEST)
        self.line.setPlaceholderText("why, for example: diverged")
        self.line.setAccessibleName("Why the run is stopped")
        self.line.returnPressed.connect(self._on_given)
        self.button = with_role(QPushButton("Stop"), "primary")
        self.button.clicked.connect(self._on_given)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(label("Stop because"))
        layout.addWidget(self.line, 1)
        layout.addWidget(self.button)
        self.setFixedWidth(_WIDTH)

    def open(self) -> None:
        panel = self.parentWidget()
        assert panel is not None
        self.line.clear()
        self.adjustSize()
        corner = panel.mapToGlobal(QPoint(16, 0))
        self.move(corner.x(), max(0, corner.y() - self.height() - 8))
        self.show()
        self.line.setFocus()

    def _on_given(self) -> None:
        self.hide()
        self.given.emit(self.line.text().strip())
