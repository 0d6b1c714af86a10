"""FactList: names and values below one another; values wrap and can be selected."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from mosaic.gui.widgets.roles import label


class _Value(QLabel):
    """Wraps, except for paths and addresses: those have no spaces, and lose their middle."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._whole = ""

    def show_text(self, text: str) -> None:
        self._whole = text
        self.setWordWrap(not self._is_place())
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _is_place(self) -> bool:
        return self._whole.startswith(("/", "http://", "https://"))

    def _fit(self) -> None:
        text = self._whole
        if self._is_place():
            middle = Qt.TextElideMode.ElideMiddle
            lines = text.splitlines()
            text = "\n".join(
                self.fontMetrics().elidedText(line, middle, self.width()) for line in lines
            )
        if text != self.text():
            self.setText(text)


class FactList(QWidget):
    def __init__(self, name_width: int = 104) -> None:
        super().__init__()
        self._name_width = name_width
        self._facts: tuple[tuple[str, str, str], ...] = ()
        self._labels: list[tuple[QLabel, _Value]] = []
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(8)
        self._layout.setVerticalSpacing(8)
        self._layout.setColumnMinimumWidth(0, name_width)
        self._layout.setColumnStretch(1, 1)

    def show_facts(self, facts: Sequence[tuple[str, str, str]]) -> None:
        """Name, value and help of each."""
        if tuple(facts) == self._facts:
            return
        self._facts = tuple(facts)
        while len(self._labels) < len(facts):
            self._add_line()
        for index, (name, value) in enumerate(self._labels):
            is_used = index < len(facts)
            name.setVisible(is_used)
            value.setVisible(is_used)
            if is_used:
                name.setText(facts[index][0])
                value.show_text(facts[index][1])
                name.setToolTip(facts[index][2])
                value.setToolTip(facts[index][2] or facts[index][1])

    def value(self, name: str) -> str:
        return next((value for known, value, _ in self._facts if known == name), "")

    def _add_line(self) -> None:
        name, value = label(role="muted"), _Value()
        name.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        row = len(self._labels)
        self._layout.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
        self._layout.addWidget(value, row, 1)
        self._labels.append((name, value))
