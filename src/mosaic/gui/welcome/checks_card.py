"""ChecksCard: what the doctor says, one line, and all of it when it is opened."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.state.welcome_state import CheckRow, Verdict, summary
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(16, 16)
_ICONS = {
    Verdict.OK: "check-circle-outline",
    Verdict.WARNING: "alert-outline",
    Verdict.FAILURE: "close-circle-outline",
    Verdict.WAITING: "timer-sand",
}


class ChecksCard(QWidget):
    asked_again = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "card")
        self._theme = theme
        self._rows: tuple[CheckRow, ...] = ()
        self._is_open: bool | None = None  # None: nobody has said, so problems open it
        self._picture, self.summary = QLabel(), label()
        self.summary.setWordWrap(True)
        self.fold_button = with_role(QPushButton("Show"), "flat")
        self.fold_button.setAccessibleName("Show or hide what was checked")
        self.fold_button.clicked.connect(self._on_fold)
        self.again_button = with_role(QPushButton("Check again"), "flat")
        self.again_button.clicked.connect(self.asked_again)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self._picture)
        top.addWidget(self.summary, 1)
        top.addWidget(self.again_button)
        top.addWidget(self.fold_button)
        self.content = with_role(QWidget(), "plain")
        self._grid = QGridLayout(self.content)
        self._grid.setContentsMargins(0, 4, 0, 4)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(2, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 6, 8, 6)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.content)
        theme.changed.connect(self._draw)
        self.show_rows(())

    @property
    def rows(self) -> tuple[CheckRow, ...]:
        return self._rows

    def show_rows(self, rows: Sequence[CheckRow]) -> None:
        self._rows = tuple(rows)
        self._draw()

    def unfold(self) -> None:
        self._is_open = True
        self._draw()

    def _on_fold(self) -> None:
        self._is_open = self.content.isHidden()
        self._draw()

    def _draw(self) -> None:
        whole = summary(self._rows)
        self._picture.setPixmap(self._pixmap(whole.verdict))
        self.summary.setText(whole.text)
        is_open = whole.verdict is Verdict.FAILURE if self._is_open is None else self._is_open
        self.fold_button.setText("Hide" if is_open else "Show")
        self.content.setVisible(is_open)
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for number, row in enumerate(self._rows):
            self._add(number, row)

    def _add(self, number: int, row: CheckRow) -> None:
        picture = QLabel()
        picture.setPixmap(self._pixmap(row.verdict))
        picture.setAccessibleName(row.verdict.value)
        text = label(f"{row.text}\n{row.fix}" if row.fix else row.text, "muted")
        text.setWordWrap(True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        top = Qt.AlignmentFlag.AlignTop
        self._grid.addWidget(picture, number, 0, top)
        self._grid.addWidget(label(row.title), number, 1, top)
        self._grid.addWidget(text, number, 2)

    def _pixmap(self, verdict: Verdict) -> QPixmap:
        palette = self._theme.palette
        colours = {
            Verdict.OK: palette.good,
            Verdict.WARNING: palette.warning,
            Verdict.FAILURE: palette.bad,
            Verdict.WAITING: palette.muted,
        }
        return self._theme.icon(_ICONS[verdict], colours[verdict]).pixmap(_ICON)
