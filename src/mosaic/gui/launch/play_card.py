"""PlayCard: which keys do what in the chosen environment."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from mosaic.gui.state.launch_play import KeyRow
from mosaic.gui.widgets.roles import label


class PlayCard(QWidget):
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
