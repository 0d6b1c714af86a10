"""RosterView: who can act, each with a word on whether they are ready."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.launch.model.choices import HUMAN, RosterEntry
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import eliding_label, label, with_role

_DOT = QSize(10, 10)
_SIGN = QSize(14, 14)
_ICON = QSize(16, 16)


class RosterRow(QPushButton):
    def __init__(self, entry: RosterEntry, theme: Theme) -> None:
        super().__init__()
        self.entry, self._theme = entry, theme
        with_role(self, "roster")
        self.setObjectName(f"roster-{entry.name}")
        self.setCheckable(True)
        self.setAccessibleName(f"{entry.title}, {entry.word}")
        self.setToolTip(entry.tooltip)
        self._picture, self._dot = QLabel(), QLabel()
        self._title = eliding_label(entry.title, "" if entry.is_installed else "muted")
        # Grey with a sign of its own: the words would leave no room for the title.
        self._word = label(entry.word if entry.is_installed else "", "caption")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 0, 8, 0)
        layout.setSpacing(8)
        layout.addWidget(self._picture)
        layout.addWidget(self._title, 1)
        layout.addWidget(self._word)
        layout.addWidget(self._dot)
        for part in (self._picture, self._dot, self._title, self._word):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.draw()

    def draw(self) -> None:
        palette = self._theme.palette
        name = "account-outline" if self.entry.name == HUMAN else "robot-outline"
        self._picture.setPixmap(self._theme.icon(name, palette.muted).pixmap(_ICON))
        dot, colour = "circle-outline", palette.warning
        if self.entry.is_ready:
            dot, colour = "circle", palette.good
        elif not self.entry.is_installed:
            dot, colour = "tray-arrow-down", palette.muted
        size = _DOT if self.entry.is_installed else _SIGN
        self._dot.setPixmap(self._theme.icon(dot, colour).pixmap(size))


class RosterView(QWidget):
    chosen = Signal(str)  # the name of an entry

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("roster")
        self._theme = theme
        self._entries: list[RosterEntry] = []
        self._rows: dict[str, RosterRow] = {}
        self._group = QButtonGroup(self)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._chosen = ""
        self._is_folded = False
        self.unfold = with_role(QPushButton(), "flat")
        self.unfold.setObjectName("roster-unfold")
        self.unfold.clicked.connect(self._on_unfold)
        self._layout.addWidget(self.unfold, 0, Qt.AlignmentFlag.AlignLeft)
        self._empty = label("Looking for workers…", "muted")
        self._layout.addWidget(self._empty)
        self._fix = _FixRow(theme)
        self._layout.addWidget(self._fix)
        theme.changed.connect(self._draw)

    def show_entries(self, entries: list[RosterEntry], chosen: str) -> None:
        if entries != self._entries:
            self._entries = list(entries)
            self._fill()
        self._empty.setVisible(not entries)
        self._chosen = chosen
        self._show_rows()
        row = self._rows.get(chosen)
        if row is not None:
            row.setChecked(True)
        entry = next((item for item in entries if item.name == chosen), None)
        self._fix.show_fix(entry.fix if entry is not None and not entry.is_ready else "")

    def fold(self, is_folded: bool) -> None:
        """Where there is little room: only the chosen one, and how to see the others."""
        if is_folded != self._is_folded:
            self._is_folded = is_folded
            self._show_rows()

    def _show_rows(self) -> None:
        is_folded = self._is_folded and self._chosen in self._rows
        for name, row in self._rows.items():
            row.setVisible(not is_folded or name == self._chosen)
        hidden = len(self._rows) - 1 if is_folded else 0
        self.unfold.setVisible(hidden > 0)
        self.unfold.setText(f"{hidden} more…")

    def _on_unfold(self) -> None:
        """Until somebody is chosen, or the panel has another height."""
        self._is_folded = False
        self._show_rows()

    def row(self, name: str) -> RosterRow:
        return self._rows[name]

    def focusables(self) -> list[QWidget]:
        return [*self._rows.values(), self.unfold, self._fix.button]

    def _fill(self) -> None:
        for row in self._rows.values():
            self._group.removeButton(row)
            self._layout.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows = {}
        for place, entry in enumerate(self._entries):
            row = RosterRow(entry, self._theme)
            row.clicked.connect(lambda _=False, name=entry.name: self.chosen.emit(name))
            self._group.addButton(row)
            self._rows[entry.name] = row
            self._layout.insertWidget(place, row)

    def _draw(self) -> None:
        for row in self._rows.values():
            row.draw()


class _FixRow(QWidget):
    """The command that would make a worker ready, to be copied."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._text = label(role="code")
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.button = with_role(QToolButton(), "flat")
        self.button.setAccessibleName("Copy the command")
        self.button.setToolTip("Copy the command")
        self.button.clicked.connect(self._on_copy)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 0, 2)
        layout.setSpacing(4)
        layout.addWidget(self._text, 1)
        layout.addWidget(self.button)
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    def show_fix(self, text: str) -> None:
        self._text.setText(text)
        self.setVisible(bool(text))

    def _on_copy(self) -> None:
        QApplication.clipboard().setText(self._text.text())

    def _draw(self) -> None:
        self.button.setIcon(self._theme.icon("content-copy", self._theme.palette.muted))
