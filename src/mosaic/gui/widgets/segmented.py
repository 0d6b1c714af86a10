"""Segmented: a few choices side by side, exactly one of them taken."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from mosaic.gui.widgets.roles import with_role

_PADDING = 20  # beside the text, with the border


class Segmented(QWidget):
    chosen = Signal(str)  # by the person, not by `choose`

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        """`choices` are pairs of a value and what it is called."""
        super().__init__(parent)
        with_role(self, "segmented")
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 2, 2, 2)
        layout.setSpacing(2)
        for value, text in choices:
            button = with_role(QPushButton(text), "segment")
            button.setCheckable(True)
            button.setAccessibleName(text)
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.setMinimumWidth(_width_of(button))
            button.clicked.connect(lambda _=False, value=value: self.chosen.emit(value))
            self._group.addButton(button)
            self._buttons[value] = button
            layout.addWidget(button)
        if choices:
            self.choose(choices[0][0])

    @property
    def value(self) -> str:
        return next((value for value, item in self._buttons.items() if item.isChecked()), "")

    def choose(self, value: str) -> None:
        if value in self._buttons:
            self._buttons[value].setChecked(True)

    def button(self, value: str) -> QPushButton:
        return self._buttons[value]


def _width_of(button: QPushButton) -> int:
    """The one that is taken is bold, which the width that Qt asks for does not know."""
    font = button.font()
    font.setWeight(QFont.Weight.DemiBold)
    return QFontMetrics(font).horizontalAdvance(button.text()) + _PADDING
