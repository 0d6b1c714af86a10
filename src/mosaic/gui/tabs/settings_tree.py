"""SettingsTree: groups of settings, those that somebody changed marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem

from mosaic.gui.state.config_view import Setting, SettingGroup
from mosaic.gui.theme.theme import Theme

_ROW = QSize(0, 24)
_GROUP_ROW = QSize(0, 30)
_NAME_WIDTH = 192
_MONO_SIZE = 11
_CLOSED = ("Ran on", "History")  # long, and seldom looked for


class SettingsTree(QTreeWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._groups: tuple[SettingGroup, ...] = ()
        self._closed = set(_CLOSED)
        self._is_search = False
        self.setAccessibleName("Settings of the run")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(12)
        self.setUniformRowHeights(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = self.header()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, _NAME_WIDTH)
        self.itemCollapsed.connect(self._on_collapsed)
        self.itemExpanded.connect(self._on_expanded)
        theme.changed.connect(self._fill)

    def show_groups(self, groups: Sequence[SettingGroup], *, is_search: bool) -> None:
        if tuple(groups) == self._groups and is_search == self._is_search:
            return
        self._groups, self._is_search = tuple(groups), is_search
        self._fill()

    def shown_settings(self) -> list[tuple[str, str]]:
        found = []
        groups = [self.topLevelItem(index) for index in range(self.topLevelItemCount())]
        for group in groups:
            items = [group.child(row) for row in range(group.childCount())] if group else []
            found += [(item.text(0), item.text(1)) for item in items if item is not None]
        return found

    def _fill(self) -> None:
        place = self.verticalScrollBar().value()
        self.blockSignals(True)
        self.clear()
        for group in self._groups:
            title = QTreeWidgetItem([group.title])
            font = QFont(self.font())
            font.setWeight(QFont.Weight.DemiBold)
            title.setFont(0, font)
            title.setSizeHint(0, _GROUP_ROW)
            title.addChildren([self._item(setting) for setting in group.settings])
            self.addTopLevelItem(title)
            title.setFirstColumnSpanned(True)
            title.setExpanded(self._is_search or group.title not in self._closed)
        self.blockSignals(False)
        self.verticalScrollBar().setValue(place)

    def _item(self, setting: Setting) -> QTreeWidgetItem:
        palette = self._theme.palette
        value = setting.value
        if setting.is_changed:
            value = f"{value} (default {setting.default})"
        item = QTreeWidgetItem([setting.name, value])
        item.setSizeHint(0, _ROW)
        item.setFont(1, self._theme.mono_font(_MONO_SIZE))
        item.setForeground(0, QColor(palette.text if setting.is_changed else palette.muted))
        if setting.is_changed:
            item.setForeground(1, QColor(palette.accent))
        elif setting.is_default:
            item.setForeground(1, QColor(palette.muted))
        lines = (f"{setting.name}: {value}", setting.help)
        item.setToolTip(0, "\n".join(line for line in lines if line))
        item.setToolTip(1, item.toolTip(0))
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        return item

    def _on_collapsed(self, item: QTreeWidgetItem) -> None:
        self._closed.add(item.text(0))

    def _on_expanded(self, item: QTreeWidgetItem) -> None:
        if not self._is_search:
            self._closed.discard(item.text(0))
