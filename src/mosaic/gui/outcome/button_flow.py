"""ButtonFlow: buttons in a row, and in a narrow window in more."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtWidgets import QPushButton
from superqt.utils import QFlowLayout

_SPACING = 8


class ButtonFlow(QFlowLayout):
    def __init__(self) -> None:
        super().__init__()
        self.setContentsMargins(0, 0, 0, 0)
        self.setHorizontalSpacing(_SPACING)
        self.setVerticalSpacing(_SPACING)

    def show_buttons(self, buttons: Iterable[QPushButton]) -> None:
        """These and no others. One that is only hidden would keep its distance to the next."""
        while self.takeAt(0) is not None:
            pass
        for button in buttons:
            self.addWidget(button)
        self.invalidate()
