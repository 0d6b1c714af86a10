"""ChartChips: charts to add or take away with one click, and the list of all others."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QMenu, QPushButton, QWidget
from superqt.utils import QFlowLayout

from mosaic.gui.state.chart_names import Chip, chips_of, prefix_of, ranked
from mosaic.gui.widgets.roles import with_role

_OTHERS = "other"


class ChartChips(QWidget):
    added = Signal(tuple)  # names
    removed = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self._shown: tuple[str, ...] = ()
        self._chips: list[Chip] = []
        self._buttons: dict[str, QPushButton] = {}
        self._layout = QFlowLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(4)
        self._layout.setVerticalSpacing(4)
        self.add_button = with_role(QPushButton("+ add chart"), "chip")
        self.add_button.setToolTip("Every metric that is not shown yet")
        self.add_button.clicked.connect(self._on_add)
        self.menu = QMenu(self)

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(chip.title for chip in self._chips)

    def button(self, title: str) -> QPushButton:
        return self._buttons[title]

    def show_charts(self, names: Sequence[str], shown: Sequence[str]) -> None:
        if (tuple(names), tuple(shown)) == (self._names, self._shown):
            return
        self._names, self._shown = tuple(names), tuple(shown)
        self._chips = chips_of(names, shown)
        if [chip.title for chip in self._chips] != list(self._buttons):
            self._rebuild()
        for chip in self._chips:
            button = self._buttons[chip.title]
            button.setChecked(chip.is_shown)
            verb = "Remove" if chip.is_shown else "Add"
            button.setToolTip(f"{verb} {', '.join(chip.names)}")
        self.add_button.setEnabled(bool(set(names) - set(shown)))

    def _rebuild(self) -> None:
        self._layout.removeWidget(self.add_button)
        for button in self._buttons.values():
            self._layout.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons = {}
        for chip in self._chips:
            button = with_role(QPushButton(chip.title), "chip")
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, title=chip.title: self._on_clicked(title))
            self._buttons[chip.title] = button
            self._layout.addWidget(button)
        self._layout.addWidget(self.add_button)

    def _on_clicked(self, title: str) -> None:
        chip = next(chip for chip in self._chips if chip.title == title)
        self._buttons[title].setChecked(chip.is_shown)  # until it has really changed
        (self.removed if chip.is_shown else self.added).emit(chip.names)

    def _on_add(self) -> None:
        self.menu.clear()
        groups: dict[str, list[str]] = {}
        for name in ranked(set(self._names) - set(self._shown)):
            groups.setdefault(prefix_of(name), []).append(name)
        for group, names in groups.items():
            menu = self.menu.addMenu(group or _OTHERS) if len(groups) > 1 else self.menu
            for name in names:
                action = menu.addAction(name.replace("&", "&&"))
                action.triggered.connect(lambda _=False, name=name: self.added.emit((name,)))
        self.menu.popup(self.add_button.mapToGlobal(QPoint(0, self.add_button.height() + 2)))
