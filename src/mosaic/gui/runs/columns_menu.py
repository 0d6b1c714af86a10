"""ColumnsMenu: which columns the table has, and whether seeds are taken together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget, QWidgetAction

from mosaic.gui.runs.model.columns import ALWAYS, MOST_SETTINGS, TITLES, Column, ColumnChoice
from mosaic.gui.runs.table_model import RunsTableModel
from mosaic.gui.widgets.roles import without_mnemonics

_MOST_OFFERED = 14


class ColumnsMenu(QMenu):
    """Stays open while columns are ticked: one rarely wants to change but one."""

    def __init__(
        self,
        model: RunsTableModel,
        choose: Callable[[ColumnChoice], None],
        group: Callable[[bool], None],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("runs-columns")
        self._model, self._choose, self._group = model, choose, group
        self._ticks: dict[int, QAction] = {}
        self._groups = self._tick("Group runs by seed", self._on_grouped)
        self._fold = self.addAction("Fold all groups")
        self._fold.triggered.connect(lambda: model.fold_all(True))
        self._unfold = self.addAction("Unfold all groups")
        self._unfold.triggered.connect(lambda: model.fold_all(False))
        self.addSeparator()
        for column in Column:
            if column not in ALWAYS:
                ticked = partial(self._on_ticked, int(column))
                self._ticks[column] = self._tick(TITLES[column], ticked)
        self.addSeparator()
        self.settings_menu = self.addMenu("Settings of the configs")
        self.settings_menu.setObjectName("runs-settings-columns")
        self._search = QLineEdit()
        self._search.setObjectName("setting-search")
        self._search.setPlaceholderText("learning_rate")
        self._search.setAccessibleName("Find a setting")
        self._search.textChanged.connect(self._offer)
        self._search.returnPressed.connect(self._take_first)
        field = QWidgetAction(self.settings_menu)
        field.setDefaultWidget(self._search)
        self.settings_menu.addAction(field)
        self._offered: list[QAction] = []
        self.settings_menu.aboutToShow.connect(self._on_settings_shown)
        self.addSeparator()
        self.addAction("Reset columns").triggered.connect(lambda: choose(ColumnChoice()))

    def open_at(self, point: QPoint) -> None:
        self._show()
        self.popup(point)

    def _tick(self, title: str, run: Callable[[], object]) -> QAction:
        action = QAction(title, self)
        action.setCheckable(True)
        action.triggered.connect(lambda *_: run())
        self.addAction(action)
        return action

    def _show(self) -> None:
        choice = self._model.choice
        for number, action in self._ticks.items():
            action.setChecked(choice.is_shown(number))
        self._groups.setChecked(self._model.is_grouped)
        for action in (self._fold, self._unfold):
            action.setEnabled(bool(self._model.groups))

    def _on_ticked(self, number: int) -> None:
        self._choose(self._model.choice.toggled(number))
        self._stay()

    def _on_grouped(self) -> None:
        self._group(self._groups.isChecked())
        self._stay()

    def _stay(self) -> None:
        at = self.pos()
        QTimer.singleShot(0, self, lambda: self.open_at(at))

    # Settings

    def _on_settings_shown(self) -> None:
        self._search.clear()
        self._offer()
        self._search.setFocus()

    def _offer(self) -> None:
        for action in self._offered:
            self.settings_menu.removeAction(action)
            action.deleteLater()
        choice, typed = self._model.choice, self._search.text().strip().lower()
        names = [name for name in self._model.settings.names if typed in name.lower()]
        others = [name for name in names if name not in choice.settings]
        self._offered = [self._setting(name, True) for name in choice.settings]
        self._offered += [self._setting(name, False) for name in others[:_MOST_OFFERED]]
        if not self._offered or (typed and not names):
            self._offered.append(self.settings_menu.addAction("No run has such a setting"))
            self._offered[-1].setEnabled(False)
        elif len(others) > _MOST_OFFERED:
            more = len(others) - _MOST_OFFERED
            self._offered.append(self.settings_menu.addAction(f"{more} more: type to find them"))
            self._offered[-1].setEnabled(False)
        self.settings_menu.adjustSize()

    def _setting(self, name: str, is_shown: bool) -> QAction:
        action = self.settings_menu.addAction(without_mnemonics(name))
        action.setCheckable(True)
        action.setChecked(is_shown)
        action.setEnabled(is_shown or len(self._model.choice.settings) < MOST_SETTINGS)
        action.triggered.connect(lambda *_: self._on_setting(name))
        return action

    def _on_setting(self, name: str) -> None:
        choice = self._model.choice
        is_shown = name in choice.settings
        self._choose(choice.without_setting(name) if is_shown else choice.with_setting(name))

    def _take_first(self) -> None:
        for action in self._offered:
            if action.isEnabled() and not action.isChecked():
                action.trigger()
                self.close()
                return
