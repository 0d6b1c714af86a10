"""ShortcutsOverlay: all keys on one card, by menu, in two columns."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from mosaic.gui.commands import MENUS, Commands
from mosaic.gui.shell.overlay import Overlay
from mosaic.gui.state.shortcut_rows import ShortcutRow, columns, shortcut_rows
from mosaic.gui.widgets.roles import label, with_role

_WIDTH, _EDGE = 760, 32
_ELSEWHERE = "Everywhere"


class ShortcutsOverlay(Overlay):
    def __init__(self, commands: Commands, window: QWidget) -> None:
        super().__init__(window)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._commands = commands
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(12)
        layout.addWidget(label("Keyboard shortcuts", "title"))
        layout.addWidget(self._scroll)
        layout.addWidget(label("Esc or a click beside this card closes it", "caption"))

    def open(self) -> None:
        self._fill()  # commands may have come since
        super().open()

    def place_card(self) -> None:
        content = self._scroll.widget()
        width = min(_WIDTH, self.width() - 2 * _EDGE)
        self.card.setFixedWidth(width)
        wanted = content.sizeHint().height() + 4 if content is not None else 0
        self._scroll.setFixedHeight(min(wanted, self.height() - 2 * _EDGE - 120))
        self.card.adjustSize()
        left, top = self.width() - self.card.width(), self.height() - self.card.height()
        self.card.move(QPoint(left // 2, max(8, top // 2)))

    def _fill(self) -> None:
        keys = [
            (
                self._commands.menu_of(action.objectName()),
                action.text().replace("&", ""),
                action.shortcut().toString(QKeySequence.SequenceFormat.NativeText),
            )
            for action in self._commands
        ]
        groups = shortcut_rows(keys, _ELSEWHERE)
        order = [name for name in (*MENUS, _ELSEWHERE) if name in groups]
        content = with_role(QWidget(), "plain")
        across = QHBoxLayout(content)
        across.setContentsMargins(0, 0, 8, 0)
        across.setSpacing(32)
        for names in columns({name: len(groups[name]) for name in order}):
            column = QVBoxLayout()
            column.setSpacing(16)
            for name in names:
                column.addWidget(_group(name, groups[name]))
            column.addStretch(1)
            across.addLayout(column, 1)
        self._scroll.setWidget(content)


def _group(name: str, rows: list[ShortcutRow]) -> QWidget:
    box = with_role(QWidget(), "plain")
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(0, 1)
    grid.addWidget(label(name, "section"), 0, 0, 1, 2)
    for number, row in enumerate(rows, 1):
        grid.addWidget(label(row.title), number, 0)
        grid.addWidget(label(row.keys, "key"), number, 1, Qt.AlignmentFlag.AlignRight)
    return box
