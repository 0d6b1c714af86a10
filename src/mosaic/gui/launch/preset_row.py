"""PresetRow: the name of a preset to be saved, typed in place."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.state.presets import name_problem
from mosaic.gui.widgets.roles import label, set_property, with_role


class PresetRow(QWidget):
    named = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("preset-row")
        self.line = QLineEdit()
        self.line.setPlaceholderText("Preset name")
        self.line.setAccessibleName("Name of the preset")
        self._save = QPushButton("Save")
        self._cancel = with_role(QPushButton("Cancel"), "flat")
        self._problem = label(role="error")
        self._problem.hide()
        top = QHBoxLayout()
        top.setSpacing(4)
        top.addWidget(self.line, 1)
        top.addWidget(self._save)
        top.addWidget(self._cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(top)
        layout.addWidget(self._problem)
        self.line.returnPressed.connect(self._on_save)
        self.line.textChanged.connect(self._on_text_changed)
        self._save.clicked.connect(self._on_save)
        self._cancel.clicked.connect(self.hide)
        self.hide()

    def ask(self, name: str = "") -> None:
        self.line.setText(name)
        self.line.selectAll()
        self.show()
        self.line.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def _on_text_changed(self, _: str) -> None:
        self._problem.hide()
        set_property(self.line, "invalid", False)

    def _on_save(self) -> None:
        name = self.line.text().strip()
        problem = name_problem(name)
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        set_property(self.line, "invalid", bool(problem))
        if not problem:
            self.hide()
            self.named.emit(name)
